import { SandboxDesktopProvider } from "../../../src/backends/vm/desktop/sandbox-provider.ts";
import { createRuntimeSelector } from "../../../src/runtimes/selector.ts";

/** The runtime of bubblewrap alone, which starts desktops quickest. */
export const localRuntimes = createRuntimeSelector({ order: ["local"] });
export const localProvider = new SandboxDesktopProvider({ selector: localRuntimes, runtime: "local" });

/** Why there can be no desktop on this machine's own programs; nothing where there can. */
export function lackingForDesktops(): Promise<string | undefined> {
  return localProvider.check(AbortSignal.timeout(60_000));
}
