# The Rust crate behind src/chat: cargo builds it into build/rust, once for all presets, from exactly the versions of Cargo.lock. What
# cargo's cache holds already is not asked for again.
find_program(LOCKSTEP_CARGO cargo HINTS $ENV{HOME}/.cargo/bin)
add_library(lockstep_chat_template_crate INTERFACE)
if(CMAKE_CROSSCOMPILING)
  # Only the floors up to the model are built for other processors.
elseif(NOT LOCKSTEP_CARGO)
  message(FATAL_ERROR "cargo is missing (tools/install_deps.sh build)")
else()
  set(crate ${PROJECT_SOURCE_DIR}/rust/chat_template)
  set(target_folder ${PROJECT_SOURCE_DIR}/build/rust)
  set(library ${target_folder}/release/liblockstep_chat_template.a)
  file(GLOB crate_sources CONFIGURE_DEPENDS ${crate}/src/*.rs)
  add_custom_command(OUTPUT ${library}
    COMMAND ${CMAKE_COMMAND} -E env CARGO_NET_RETRY=5
      ${LOCKSTEP_CARGO} build --release --locked --quiet --manifest-path ${crate}/Cargo.toml --target-dir ${target_folder}
    COMMAND ${CMAKE_COMMAND} -E touch ${library}
    DEPENDS ${crate}/Cargo.toml ${crate}/Cargo.lock ${crate_sources}
    COMMENT "cargo build rust/chat_template"
    VERBATIM)
  add_custom_target(lockstep_chat_template_library DEPENDS ${library})
  add_dependencies(lockstep_chat_template_crate lockstep_chat_template_library)
  target_link_libraries(lockstep_chat_template_crate INTERFACE ${library} Threads::Threads ${CMAKE_DL_LIBS})
endif()
