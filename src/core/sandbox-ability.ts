/** What only some sandboxes can do, by the name of `SandboxInstance`'s own member. */
export const SANDBOX_ABILITIES = [
  "exec",
  "spawn",
  "processes",
  "files",
  "connect",
  "stats",
  "reset",
  "pause",
  "resume",
  "ping",
] as const;
export type SandboxAbility = (typeof SANDBOX_ABILITIES)[number];
