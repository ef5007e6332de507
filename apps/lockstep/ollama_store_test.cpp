#include "ollama_store.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

const std::string kModelHash(64, 'a');
const std::string kTemplateHash(64, 'b');
const std::string kParamsHash(64, 'c');

std::string layer(const std::string& type, const std::string& digest) {
  return R"({"mediaType":"application/vnd.ollama.image.)" + type + R"(","digest":")" + digest + R"(","size":3})";
}

class OllamaStore : public testing::Test {
 protected:
  void SetUp() override {
    store_ = fs::path(testing::TempDir()) /
             ("ollama_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(store_);
    write("blobs/sha256-" + kModelHash, "GGUF");
    write("blobs/sha256-" + kTemplateHash, "{{ .Prompt }}");
    write("blobs/sha256-" + kParamsHash, R"({"stop":["x"]})");
    manifest("host.example/library/smol/latest", layer("model", "sha256:" + kModelHash));
  }
  void TearDown() override { fs::remove_all(store_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((store_ / name).parent_path());
    std::ofstream(store_ / name, std::ios::binary) << text;
  }
  void manifest(const std::string& name, const std::string& layers) const {
    write("manifests/" + name, R"({"schemaVersion":2,"layers":[)" + layers + "]}");
  }
  [[nodiscard]] fs::path model_file() const { return store_ / "blobs" / ("sha256-" + kModelHash); }

  void expect_refusal(const std::string& name, ErrorCode code, const std::string& words) const {
    try {
      (void)find_ollama_model(name, store_);
      ADD_FAILURE() << name << " is found";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }

  fs::path store_;
};

TEST_F(OllamaStore, FindsTheBlobOfAModelByItsShortAndLongNames) {
  manifest("host.example/someone/tuned/q4", layer("model", "sha256:" + kModelHash));
  for (const char* name : {"smol", "smol:latest", "library/smol", "host.example/library/smol:latest",
                           "someone/tuned:q4", "host.example/someone/tuned:q4"}) {
    EXPECT_EQ(find_ollama_model(name, store_).path, model_file()) << name;
  }
}

TEST_F(OllamaStore, GivesTemplateAndParametersWhereTheManifestHasThem) {
  EXPECT_FALSE(find_ollama_model("smol", store_).chat_template);
  manifest("host.example/library/smol/latest", layer("model", "sha256:" + kModelHash) + "," +
                                                   layer("template", "sha256:" + kTemplateHash) + "," +
                                                   layer("params", "sha256:" + kParamsHash));
  const OllamaModel model = find_ollama_model("smol", store_);
  EXPECT_EQ(model.chat_template, "{{ .Prompt }}");
  EXPECT_EQ(model.parameters, R"({"stop":["x"]})");
}

TEST_F(OllamaStore, AnUnknownNameListsWhatThereIs) {
  expect_refusal("large", ErrorCode::kNotFound, "smol:latest");
  expect_refusal("smol:7b", ErrorCode::kNotFound, "smol:latest");
  fs::remove_all(store_);
  expect_refusal("smol", ErrorCode::kNotFound, "no models there");
}

TEST_F(OllamaStore, ANameOnSeveralHostsIsAskedFor) {
  manifest("other.example/library/smol/latest", layer("model", "sha256:" + kModelHash));
  expect_refusal("smol", ErrorCode::kNotFound, "other.example");
  EXPECT_EQ(find_ollama_model("other.example/library/smol", store_).path, model_file());
}

TEST_F(OllamaStore, NoNameLeadsOutOfTheStore) {
  write("manifests/host.example/secret", "{}");
  for (const char* name : {"../secret", "..", "", ":", "smol:", "smol:../x", "a/b/c/d", "/smol", "smol/", ".hidden",
                           "a b", "smol:a:b", "sm\nol", "host:80/library/smol"}) {
    expect_refusal(name, ErrorCode::kBadRequest, "expected ollama:");
  }
  expect_refusal(std::string("smol\0x", 6), ErrorCode::kBadRequest, "expected ollama:");
}

TEST_F(OllamaStore, AManifestOfAnotherFormIsRefused) {
  for (const std::string& digest : {std::string("sha256:../../etc/passwd"), "sha256:" + std::string(64, 'Z'),
                                    "md5:" + kModelHash, kModelHash, std::string()}) {
    manifest("host.example/library/smol/latest", layer("model", digest));
    expect_refusal("smol", ErrorCode::kBadFile, "digest");
  }
  manifest("host.example/library/smol/latest", layer("template", "sha256:" + kTemplateHash));
  expect_refusal("smol", ErrorCode::kBadFile, "no layer with a model");
  for (const char* text : {"", "[]", "{}", R"({"layers":5})", "not JSON"}) {
    write("manifests/host.example/library/smol/latest", text);
    expect_refusal("smol", ErrorCode::kBadFile, "latest");
  }
}

}  // namespace
}  // namespace lockstep
