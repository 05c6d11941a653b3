# Writes OUT with the state of the git checkout SOURCE, touching it only when that changes. Runs at every build,
# because a commit made after configuring must not leave a stale one in the records.
# ULPSCOPE_COMMIT in the environment stands in where there is no checkout (an archive, a container).
set(commit "$ENV{ULPSCOPE_COMMIT}")
set(dirty false)
execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE head ERROR_QUIET
                OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(commit STREQUAL "" AND NOT failed)
  set(commit ${head})
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
  if(NOT changes STREQUAL "")
    set(dirty true)
  endif()
endif()
if(commit STREQUAL "")
  set(commit unknown)
endif()
set(text "#pragma once
namespace ulpscope {
inline constexpr const char* kCommit = \"${commit}\";
inline constexpr bool kCommitDirty = ${dirty};
}  // namespace ulpscope
")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT "${old}" STREQUAL "${text}")
  file(WRITE ${OUT} "${text}")
endif()
