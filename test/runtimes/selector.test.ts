import { describe, expect, it } from "vitest";
import { isolatesAtLeast, ISOLATION_LEVELS } from "../../src/core/runtime.ts";
import { FakeRuntime } from "../../src/runtimes/fake/runtime.ts";
import { createRuntimeSelector } from "../../src/runtimes/selector.ts";

const never = new AbortController().signal;
const strong = new FakeRuntime({ name: "strong", isolation: "container", languages: ["python"] });
const weak = new FakeRuntime({ name: "weak", isolation: "wasm", languages: ["javascript"] });
const absent = new FakeRuntime({
  name: "absent",
  isolation: "vm",
  status: { available: false, reason: "no /dev/kvm", remedy: "buy a bigger machine", languages: {} },
});
const selector = createRuntimeSelector({ order: ["absent", "strong", "weak"], runtimes: [strong, weak, absent] });

describe("the selector", () => {
  it("orders isolation from none to vm", () => {
    expect(ISOLATION_LEVELS).toEqual(["none", "wasm", "namespace", "container", "vm"]);
    expect(isolatesAtLeast("container", "namespace")).toBe(true);
    expect(isolatesAtLeast("wasm", "namespace")).toBe(false);
  });

  it("takes the first that is available, and the first that has the language", async () => {
    expect((await selector.select({}, never)).name).toBe("strong");
    expect((await selector.select({ language: "javascript" }, never)).name).toBe("weak");
  });

  it("refuses rather than downgrades, and says why each did not serve and what to do", async () => {
    await expect(selector.select({ language: "javascript", minIsolation: "container" }, never)).rejects.toMatchObject({
      error: "runtime_unavailable",
      message: expect.stringMatching(
        /absent: no \/dev\/kvm; strong: it has no javascript; weak: its isolation is "wasm"/,
      ),
      suggestion: expect.stringContaining("buy a bigger machine"),
    });
    await expect(selector.select({ runtime: "weak", minIsolation: "vm" }, never)).rejects.toMatchObject({
      error: "runtime_unavailable",
    });
  });

  it("takes a runtime by name only as itself, and knows which names there are", async () => {
    expect((await selector.select({ runtime: "weak" }, never)).name).toBe("weak");
    await expect(selector.select({ runtime: "docket" }, never)).rejects.toMatchObject({
      error: "invalid_input",
      message: expect.stringContaining("strong"),
    });
  });

  it("tries docker before local by itself, only where it was set up, and goes on when no engine is there", async () => {
    const docker = { socket: "/none/docker.sock" };
    const automatic = createRuntimeSelector({ docker, order: "auto" });
    expect(automatic.names[0]).toBe("docker");
    expect((await automatic.select({ language: "javascript" }, never)).name).not.toBe("docker");
    await expect(automatic.select({ minIsolation: "container" }, never)).rejects.toMatchObject({
      message: expect.stringContaining("docker: no Docker Engine is there"),
      suggestion: expect.stringContaining("Start the Docker Engine"),
    });
    expect(createRuntimeSelector({ order: "auto" }).names).not.toContain("docker");
    await automatic.close();
  });

  it("tells the status of all, with their isolation", async () => {
    const status = await selector.status(never);
    expect(Object.keys(status)).toEqual(expect.arrayContaining(["absent", "strong", "weak", "local", "quickjs"]));
    expect(status["absent"]).toMatchObject({ available: false, isolation: "vm", reason: "no /dev/kvm" });
    expect(status["quickjs"]).toMatchObject({ available: true, isolation: "wasm" });
  });
});
