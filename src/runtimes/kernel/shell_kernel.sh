# Runs the code in fd 9 in this one shell whenever fd 8 names an execution, and answers "execution status".
#
# What ends a shell (`exit`, a failure under `set -e`, an unset variable under `set -u`, an interrupt) comes to the EXIT trap:
# it writes the shell's state into fd 9 and executes this text anew, in the same process, which reads the state back and
# answers for the execution. So variables, functions and what runs in the background outlive it; only the table of jobs does not.
# No other process helps it to save: what an interrupted execution started is killed meanwhile, and such a one would be with it.

# Reads into an array the lines that a builtin prints.
__toolyard_list() {
  builtin "${@:2}" >|/dev/fd/9 2>/dev/null
  builtin mapfile -t "$1" </dev/fd/9
}

__toolyard_save() {
  builtin local __toolyard_name
  builtin shopt -p
  builtin set +o
  builtin umask -p
  for __toolyard_name in "${__toolyard_variables[@]}"; do
    case $__toolyard_name in
      __toolyard_* | TOOLYARD_* | _ | BASH | BASHPID | BASHOPTS | BASH_ALIASES | BASH_ARG* | BASH_CMDS | BASH_COMMAND) ;;
      BASH_EXECUTION_STRING | BASH_LINENO | BASH_SOURCE | BASH_SUBSHELL | BASH_VERS* | COMP_WORDBREAKS | DIRSTACK) ;;
      EPOCH* | EUID | FUNCNAME | GROUPS | HISTCMD | LINENO | PIPESTATUS | PPID | PWD | RANDOM | SHELLOPTS | SRANDOM | UID) ;;
      # What a function that was left had for itself is not the session's.
      *) [[ $__toolyard_locals == *" $__toolyard_name "* ]] || builtin declare -p "$__toolyard_name" ;;
    esac
  done
  for __toolyard_name in "${__toolyard_functions[@]}"; do
    [[ $__toolyard_name == __toolyard_* || $__toolyard_name == trap ]] || builtin declare -f "$__toolyard_name"
  done
  for __toolyard_name in "${__toolyard_exported[@]##* }"; do builtin printf 'export -f %q\n' "$__toolyard_name"; done
  builtin alias -p
  builtin declare -p __toolyard_at_interrupt __toolyard_at_term __toolyard_flags __toolyard_arguments
  ((${#__toolyard_arguments[@]} == 0)) || {
    builtin printf 'set --'
    builtin printf ' %q' "${__toolyard_arguments[@]}"
    builtin printf '\n'
  }
  builtin trap -p
}

# Goes on in a fresh shell with the same state.
__toolyard_leave() {
  builtin trap - EXIT INT
  [[ $__toolyard_at_term != 'builtin exit 143' ]] || builtin trap - TERM
  [[ $__toolyard_live == 1 ]] || builtin exit "$__toolyard_status"
  builtin local __toolyard_line __toolyard_pattern='^declare -[^ ]+ ([A-Za-z_][A-Za-z0-9_]*)'
  __toolyard_locals=" "
  while IFS= builtin read -r __toolyard_line; do
    [[ $__toolyard_line =~ $__toolyard_pattern ]] && __toolyard_locals+="${BASH_REMATCH[1]} "
  done </dev/fd/9
  [[ -z $__toolyard_at_exit ]] || builtin eval "$__toolyard_at_exit"
  builtin local -a __toolyard_variables __toolyard_functions __toolyard_exported
  __toolyard_list __toolyard_variables compgen -v
  __toolyard_list __toolyard_functions compgen -A function
  __toolyard_list __toolyard_exported declare -Fx
  __toolyard_save >|/dev/fd/9 2>/dev/null
  TOOLYARD_ENDED="$__toolyard_x $__toolyard_status" builtin exec -a bash /bin/bash --norc --noprofile -c "$BASH_EXECUTION_STRING"
}

# The shell's own traps must stay, so that the one that user code sets on EXIT is kept aside, and they are not listed.
trap() {
  if ((BASH_SUBSHELL > 0)) || [[ $1 == -l* ]]; then
    builtin trap "$@"
    builtin return
  fi
  if (($# == 0)) || [[ $1 == -p ]]; then
    builtin trap - EXIT
    [[ $__toolyard_at_interrupt != 'builtin exit 130' ]] || builtin trap - INT
    [[ $__toolyard_at_term != 'builtin exit 143' ]] || builtin trap - TERM
    builtin trap -p "${@:2}"
    [[ -z $__toolyard_at_exit || ($# -gt 1 && " ${*:2} " != *" EXIT "*) ]] || builtin printf 'trap -- %q EXIT\n' "$__toolyard_at_exit"
    __toolyard_arm
    builtin return
  fi
  [[ $1 != -- ]] || builtin shift
  # With one name only, that signal is as it was.
  (($# > 1)) || builtin set -- - "$@"
  builtin local __toolyard_name __toolyard_result=0
  for __toolyard_name in "${@:2}"; do
    case ${__toolyard_name^^} in
      0 | EXIT) if [[ $1 == - ]]; then __toolyard_at_exit=; else __toolyard_at_exit=$1; fi ;;
      2 | INT | SIGINT) if [[ $1 == - ]]; then __toolyard_at_interrupt='builtin exit 130'; else __toolyard_at_interrupt=$1; fi ;;
      15 | TERM | SIGTERM) if [[ $1 == - ]]; then __toolyard_at_term='builtin exit 143'; else __toolyard_at_term=$1; fi ;;
      *) builtin trap -- "$1" "$__toolyard_name" || __toolyard_result=$? ;;
    esac
  done
  __toolyard_arm
  builtin return "$__toolyard_result"
}

__toolyard_arm() {
  builtin trap -- "$__toolyard_on_exit" EXIT
  builtin trap -- "$__toolyard_at_interrupt" INT
  builtin trap -- "$__toolyard_at_term" TERM
}

__toolyard_on_exit='{ __toolyard_status=$? __toolyard_flags=$-; builtin set +eux; } 2>/dev/null
((${#FUNCNAME[@]} > 1)) || __toolyard_arguments=("$@")
builtin local >|/dev/fd/9 2>/dev/null
__toolyard_leave'
__toolyard_at_exit= __toolyard_flags= __toolyard_live=0
__toolyard_at_interrupt='builtin exit 130' __toolyard_at_term='builtin exit 143'
__toolyard_arguments=()
if [[ -n $TOOLYARD_ENDED ]]; then
  __toolyard_ended=$TOOLYARD_ENDED
  builtin unset TOOLYARD_ENDED
  . /dev/fd/9 2>/dev/null
  builtin trap '' INT
  builtin printf '%s\n' "$__toolyard_ended" >&8
else
  builtin shopt -s expand_aliases
fi
__toolyard_arm
builtin trap '' INT
while IFS= builtin read -r -u 8 __toolyard_x; do
  __toolyard_live=1
  builtin trap -- "$__toolyard_at_interrupt" INT
  [[ $__toolyard_flags != *e* ]] || builtin set -e
  [[ $__toolyard_flags != *u* ]] || builtin set -u
  [[ $__toolyard_flags != *x* ]] || builtin set -x
  . /dev/fd/9 </dev/null
  { __toolyard_status=$? __toolyard_flags=$- __toolyard_arguments=("$@"); builtin set +eux; } 2>/dev/null
  # Between two executions there is nothing to interrupt.
  builtin trap '' INT
  __toolyard_live=0
  builtin printf '%s %s\n' "$__toolyard_x" "$__toolyard_status" >&8
done
builtin trap - EXIT
