#include "line_editor.h"

#include <histedit.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <new>

#include "interrupt.h"
#include "terminal.h"

namespace lockstep {
namespace {

constexpr int kRememberedLines = 1000;

// Characters of several bytes are one column step, whatever the environment says.
void use_utf8() {
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
}

}  // namespace

struct LineEditor::Impl {
  EditLine* edit = nullptr;
  History* history = nullptr;
  std::FILE* screen = is_terminal(stdout) ? stdout : stderr;
  std::string prompt;
  bool given_up = false;

  static Impl& of(EditLine* edit) {
    void* data = nullptr;
    el_get(edit, EL_CLIENTDATA, &data);
    return *static_cast<Impl*>(data);
  }
  static char* prompt_of(EditLine* edit) { return of(edit).prompt.data(); }
  static unsigned char give_up(EditLine* edit, wint_t /*key*/) {
    of(edit).given_up = true;
    return CC_NEWLINE;
  }

  Impl() {
    use_utf8();
    history = history_init();
    edit = el_init("lockstep", stdin, screen, stderr);
    if (history == nullptr || edit == nullptr) throw std::bad_alloc();
    HistEvent event;
    ::history(history, &event, H_SETSIZE, kRememberedLines);
    ::history(history, &event, H_SETUNIQUE, 1);
    el_set(edit, EL_CLIENTDATA, this);
    el_set(edit, EL_PROMPT, &Impl::prompt_of);
    el_set(edit, EL_EDITOR, "emacs");
    el_set(edit, EL_HIST, ::history, history);
    el_set(edit, EL_SIGNAL, 1);  // the terminal gets its modes back before a signal does its work
    // The wide call keeps the pointers; that of narrow texts would copy both and never free them.
    el_wset(edit, EL_ADDFN, L"lockstep-give-up", L"give up this line", &Impl::give_up);
    el_set(edit, EL_BIND, "^C", "lockstep-give-up", nullptr);
    el_set(edit, EL_SETTY, "-d", "-isig", nullptr);  // while a line is edited the key makes no signal
  }
  ~Impl() {
    if (edit != nullptr) el_end(edit);
    if (history != nullptr) history_end(history);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
};

LineEditor::LineEditor() : impl_(std::make_unique<Impl>()) {}
LineEditor::~LineEditor() = default;

LineEditor::Outcome LineEditor::read(const std::string& prompt, std::string& line) {
  impl_->prompt = prompt;
  impl_->given_up = false;
  line.clear();
  int n_bytes = 0;
  const char* text = nullptr;
  {
    const WaitingForOthers waiting;
    text = el_gets(impl_->edit, &n_bytes);
  }
  if (text != nullptr && n_bytes > 0) line.assign(text, static_cast<size_t>(n_bytes));
  if (impl_->given_up) {
    std::fputs("\n", impl_->screen);
    std::fflush(impl_->screen);
    return Outcome::kGivenUp;
  }
  if (line.empty()) return Outcome::kEnd;
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return Outcome::kLine;
}

void LineEditor::remember(const std::string& line) {
  HistEvent event;
  history(impl_->history, &event, H_ENTER, line.c_str());
}

}  // namespace lockstep
