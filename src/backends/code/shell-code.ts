/** Wraps a command so that it runs in the shell itself, elsewhere or with further environment for this once. */
export function toShellCode(
  command: string,
  { cwd, env }: { cwd?: string | undefined; env?: Environment | undefined },
) {
  const assignments = Object.entries(env ?? {}).map(([name, value]) => `${name}=${quote(value)}`);
  // `eval` takes assignments for its own time, and hands what else it changes to the shell.
  const run = assignments.length === 0 ? command : `${assignments.join(" ")} eval ${quote(command)}`;
  if (cwd === undefined) return run;
  return [
    `__toolyard_folder=$PWD; cd -- ${quote(cwd)} && {`,
    `${run}`,
    "}",
    '__toolyard_status=$?; cd -- "$__toolyard_folder" 2>/dev/null; unset __toolyard_folder; (exit $__toolyard_status)',
  ].join("\n");
}

/** What makes another shell like this one: its exported variables, functions and folder. */
export const SHELL_STATE = 'declare -px; declare -f; printf "cd -- %q\\n" "$PWD"';

type Environment = Readonly<Record<string, string>>;

/** Quotes a text as one word of a shell. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Writes all of a shell that another one can read back: functions, aliases, variables that may be set, options, folder. */
export const DUMP_SHELL = `
declare -f; alias -p
while IFS= read -r __toolyard_name; do
  case $__toolyard_name in
    BASH*|COMP_*|DIRSTACK|EPOCH*|EUID|FUNCNAME|GROUPS|HISTCMD|LINENO|PIPESTATUS|PPID|RANDOM|SECONDS|SHELLOPTS|SRANDOM|UID|_|__toolyard*) continue ;;
  esac
  [[ \${!__toolyard_name@a} == *r* ]] || declare -p "$__toolyard_name" 2>/dev/null
done < <(compgen -v); unset __toolyard_name
shopt -p; printf 'cd -- %q\\n' "$PWD"`;
