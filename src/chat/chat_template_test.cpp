#include "chat/chat_template.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace lockstep::chat {
namespace {

constexpr std::string_view kNow = "2026-01-02T03:04:05";

std::string render(const std::string& source, const std::string& variables = "{}") {
  return ChatTemplate(source).render(variables, kNow);
}

std::string error_of(const std::string& source, const std::string& variables = "{}") {
  try {
    const std::string text = render(source, variables);
    return "rendered " + std::to_string(text.size()) + " bytes: " + printable(text);
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == ErrorCode::kTemplate || error.code() == ErrorCode::kBadRequest) << error.what();
    return error.what();
  }
}

std::string repeated(std::string_view part, size_t n) {
  std::string text;
  for (size_t i = 0; i < n; ++i) text += part;
  return text;
}

struct Example {
  std::string source, expected;
};

class AsPythonDoes : public testing::TestWithParam<Example> {};

TEST_P(AsPythonDoes, Renders) {
  const std::string variables = R"({"text":"Hello World","none":null,"yes":true,"list":[1,"two",3.0,null,false],)"
                                R"("map":{"b":"it's","a":{"x":1e16,"y":1e-05}},"unicode":"h\u00e9 \ud83d\ude80 <&>"})";
  EXPECT_EQ(render(GetParam().source, variables), GetParam().expected) << GetParam().source;
}

INSTANTIATE_TEST_SUITE_P(
    Values, AsPythonDoes,
    testing::Values(Example{"{{ none }} {{ yes }} {{ list }} {{ missing }}|",
                            "None True [1, 'two', 3.0, None, False] |"},
                    Example{"{{ map }}", "{'b': \"it's\", 'a': {'x': 1e+16, 'y': 1e-05}}"},
                    Example{"{{ map | tojson }}", R"({"b": "it's", "a": {"x": 1e+16, "y": 1e-05}})"},
                    Example{"{{ unicode | tojson }}", "\"h\xc3\xa9 \xf0\x9f\x9a\x80 <&>\""},
                    Example{"{{ unicode | tojson(ensure_ascii=True) }}", R"("h\u00e9 \ud83d\ude80 <&>")"},
                    Example{"{{ list | tojson(indent=2) }}", "[\n  1,\n  \"two\",\n  3.0,\n  null,\n  false\n]"},
                    Example{"{{ map | tojson(separators=(',', ':'), sort_keys=true) }}",
                            R"({"a":{"x":1e+16,"y":1e-05},"b":"it's"})"},
                    Example{"{{ '%s-%d' | format('a', 3) }} {{ 'a' ~ 1 ~ none }}", "a-3 a1None"}));

INSTANTIATE_TEST_SUITE_P(
    Methods, AsPythonDoes,
    testing::Values(
        Example{"{{ text.upper() }} {{ text | lower }} {{ text.split(' ')[-1] }}", "HELLO WORLD hello world World"},
        Example{"{{ text.find('World') }} {{ text.find('x') }} {{ ''.isdigit() }} {{ text.count('') }}",
                "6 -1 False 12"},
        Example{"{{ '  a '.strip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'a,b,c'.rsplit(',', 1) }}", "a|a|['a,b', 'c']"},
        Example{"{{ 'a-b'.partition('-') }} {{ 'abc'.removeprefix('a') }} {{ '7'.zfill(3) }}",
                "['a', '-', 'b'] bc 007"},
        Example{"{{ map.get('zz', 'none') }} {{ map.items() | list | length }} {{ map.keys() | list }}",
                "none 2 ['b', 'a']"},
        Example{"{{ 'aaa'.replace('a', 'b', 2) }} {{ text.startswith(('x', 'Hell')) }}", "bba True"},
        Example{"{{ 'a\\nb' | indent(2) }}", "a\n  b"}));

INSTANTIATE_TEST_SUITE_P(
    Statements, AsPythonDoes,
    testing::Values(
        Example{"{% for x in list %}{% if x is none %}{% break %}{% endif %}{{ x }},{% endfor %}", "1,two,3.0,"},
        Example{"a{% generation %}b{% endgeneration %}c", "abc"},
        Example{"x\n  {% if true %}\ny\n{%- endif %}\n", "x\ny"},
        Example{"{% set ns = namespace(n=0) %}{% for x in list %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}", "5"},
        Example{"{{ strftime_now('%d %B %Y, %H:%M %A %-d %j') }}", "02 January 2026, 03:04 Friday 2 002"},
        Example{"{% macro m(a, b='x') %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(b=2, a=3) }}", "1x32"}));

TEST(ChatTemplate, GivesTheTemplatesOwnMessage) {
  EXPECT_EQ(error_of("{{ raise_exception('Roles must alternate: ' ~ role) }}", R"({"role":"x\ny"})"),
            "the chat template refuses the conversation: Roles must alternate: x\\x0Ay");
}

TEST(ChatTemplate, RendersAnyNumberOfTimes) {
  const ChatTemplate compiled(
      "{% if not x %}{{ raise_exception('no x') }}{% endif %}{% for i in x %}<{{ i }}>{% endfor %}");
  const ChatTemplate copy = compiled;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(compiled.render(R"({"x":[1,2]})", kNow), "<1><2>");
    EXPECT_THROW((void)copy.render("{}", kNow), Error);
    EXPECT_EQ(copy.render(R"({"x":"ab"})", kNow), "<a><b>");
  }
}

TEST(ChatTemplate, NamesTheLineOfAFault) {
  EXPECT_EQ(error_of("a\n{% if %}"), error_of("a\n{% if %}"));
  for (const std::string source :
       {"a\n{% if x", "a\n{% endfor %}", "a\n{{ 'x }}", "a\n{{ x | nosuchfilter }}", "a\n{{ x.y.z }}",
        "a\n{{ [1,2][ }}", "a\n{% for %}", "a\n{{ {}|items|tojson(bad=1) }}"}) {
    const std::string message = error_of(source);
    EXPECT_TRUE(message.starts_with("the chat template is malformed: line 2: ") ||
                message.starts_with("the chat template failed: line 2: "))
        << source << " -> " << message;
  }
}

TEST(ChatTemplate, RefusesVariablesThatAreNotJson) {
  EXPECT_TRUE(error_of("x", "{\"a\":").starts_with("input of the chat template: "));
  EXPECT_TRUE(error_of("x", repeated("[", 100000)).starts_with("input of the chat template: "));
}

// Each would run, grow or nest without end.
class Budget : public testing::TestWithParam<std::string> {};

TEST_P(Budget, EndsWithANamedError) {
  const std::string message = error_of(GetParam());
  EXPECT_TRUE(message.starts_with("the chat template was stopped: ") ||
              message.starts_with("the chat template is malformed: "))
      << printable(GetParam(), 60) << " -> " << message;
}

INSTANTIATE_TEST_SUITE_P(
    Loops, Budget,
    testing::Values("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
                    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
                    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
                    "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"));

INSTANTIATE_TEST_SUITE_P(
    Growth, Budget,
    testing::Values(
        "{{ 'x' * 99999999 }}", "{{ ('x' * 9999999) ~ ('x' * 99999999) }}",
        "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(64) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s "
        "}}",
        "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(64) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "{% set ns = namespace(s='x') %}{% for i in range(64) %}{% set ns.s = ns.s.replace('x', 'xxxxxxxx') %}{% "
        "endfor %}",
        "{% set ns = namespace(s='x') %}{% for i in range(64) %}{% set t %}{{ ns.s }}{{ ns.s }}{% endset %}{% set ns.s "
        "= t %}{% endfor %}",
        "{% set ns = namespace(l=[1, 2]) %}{% for i in range(64) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(64) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(40) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l == "
        "ns.l | list }}",
        "{% for i in range(99999) %}{{ 'some text that is longer than nothing' * 99 }}{% endfor %}",
        "{{ [1] * 99999999 }}", "{{ range(99999) | join('x' * 99999) }}", "{{ ('a\n' * 999999) | indent(999) }}",
        "{{ 'x'.center(999999999) }}", "{{ '%999999999d' | format(1) }}", "{{ [1] | batch(999999999, 'x') }}"));

INSTANTIATE_TEST_SUITE_P(
    Nesting, Budget,
    testing::Values(
        "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}",
        "{{ " + repeated("(", 50000) + "1" + repeated(")", 50000) + " }}", "{{ " + repeated("[", 50000) + " }}",
        "{{ x" + repeated(" + x", 50000) + " }}", "{{ " + repeated("not ", 50000) + "x }}",
        "{{ x" + repeated(".a", 50000) + " }}", "{{ x" + repeated("|e", 50000) + " }}",
        "{{ " + repeated("-", 50000) + "1 }}", repeated("{% if x %}", 20000) + repeated("{% endif %}", 10000),
        repeated("{% for x in y %}", 10000)));

TEST(ChatTemplate, RefusesATemplateOfAMegabyte) {
  EXPECT_EQ(error_of(repeated("hello ", 180000)), "the chat template was stopped: the template has more than 256 KiB");
  EXPECT_EQ(render(repeated("hello ", 40000)).size(), 240000U);
}

TEST(ChatTemplate, BearsAThousandElifs) {
  EXPECT_EQ(render("{% if a %}" + repeated("{% elif b %}", 15000) + "{% else %}x{% endif %}"), "x");
}

TEST(ChatTemplate, RefusesANamespaceThatHoldsItself) {
  EXPECT_TRUE(error_of("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}").find("namespace") !=
              std::string::npos);
  EXPECT_TRUE(error_of("{% set ns = namespace() %}{% set ns.me = [ns] %}{{ ns }}").find("namespace") !=
              std::string::npos);
}

TEST(ChatTemplate, BearsALongConversation) {
  std::string messages;
  for (int i = 0; i < 3000; ++i)
    messages += std::string(i == 0 ? "" : ",") + R"({"role":"user","content":"some words"})";
  const std::string source =
      "{% set ns = namespace(all=[]) %}{% for m in messages %}{% set ns.all = ns.all + [m] %}{% endfor %}"
      "{% for m in ns.all %}{{ '<' ~ m.role ~ '>' ~ m.content | trim }}{% endfor %}";
  EXPECT_EQ(render(source, "{\"messages\":[" + messages + "]}").size(), 3000U * 16);
}

TEST(ChatTemplate, KnowsTheFormOfATime) {
  EXPECT_TRUE(is_local_time(local_time_now()));
  EXPECT_FALSE(is_local_time("2026-01-02 03:04:05"));
  EXPECT_FALSE(is_local_time("2026-01-02T03:04"));
  EXPECT_EQ(ChatTemplate("x").render("{}", local_time_now()), "x");
}

}  // namespace
}  // namespace lockstep::chat
