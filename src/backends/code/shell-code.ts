/** Writes a command so that it runs in the shell itself, elsewhere or with further environment for this once. */
export function toShellCode(
  command: string,
  { cwd, env }: { cwd?: string | undefined; env?: Environment | undefined },
) {
  const assignments = Object.entries(env ?? {}).map(([name, value]) => `${name}=${quote(value)}`);
  // `eval` takes assignments for its own time, and hands what else it changes to the shell.
  const run = assignments.length === 0 ? command : `${assignments.join(" ")} eval ${quote(command)}`;
  // On one line, so that the lines that bash names in its complaints are the command's own.
  return cwd === undefined ? run : `builtin cd -- ${quote(cwd)} || builtin return; ${run}`;
}

// The shell that guards itself against `exit` has functions of its own, `trap` among them, which are nobody else's.
const FUNCTIONS = `
while IFS= builtin read -r __toolyard_name; do
  case $__toolyard_name in __toolyard_* | trap) ;; *) builtin declare -f "$__toolyard_name" ;; esac
done < <(builtin compgen -A function); builtin unset __toolyard_name`;

/** Writes what makes another shell like this one: its exported variables, functions and folder. */
export const SHELL_STATE = `${FUNCTIONS}
builtin declare -px; builtin printf 'cd -- %q\\n' "$PWD"`;

/** Writes all of a shell that another one can read back: functions, aliases, variables that may be set, options, folder. */
export const DUMP_SHELL = `${FUNCTIONS}
while IFS= builtin read -r __toolyard_name; do
  case $__toolyard_name in
    __toolyard_* | TOOLYARD_* | _ | BASH* | COMP_* | DIRSTACK | EPOCH* | EUID | FUNCNAME | GROUPS | HISTCMD | HOSTNAME | LINENO) ;;
    PIPESTATUS | PPID | PWD | RANDOM | SECONDS | SHELLOPTS | SRANDOM | UID) ;;
    *) [[ \${!__toolyard_name@a} == *r* ]] || builtin declare -p "$__toolyard_name" 2>/dev/null ;;
  esac
done < <(builtin compgen -v); builtin unset __toolyard_name
builtin alias -p; builtin shopt -p; builtin set +o; builtin printf 'cd -- %q\\n' "$PWD"`;

type Environment = Readonly<Record<string, string>>;

/** Quotes a text as one word of a shell. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
