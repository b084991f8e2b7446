import { describe, expect, it } from "vitest";
import { readSetup } from "../../../../src/backends/vm/episode/foreign-setup.ts";

describe("setup steps", () => {
  it("are read in our words and in OSWorld's", () => {
    expect(
      readSetup(
        [
          { do: "wait", ms: 5 },
          { type: "sleep", parameters: { seconds: 0.5 } },
          { type: "launch", parameters: { command: ["xterm", "-e", "cat"] } },
          { type: "execute", parameters: { command: "true", shell: true } },
          { type: "chrome_open_tabs", parameters: { urls_to_open: ["http://a.test/", "http://b.test/"] } },
        ],
        "config",
      ),
    ).toMatchObject([
      { do: "wait", ms: 5 },
      { do: "wait", ms: 500 },
      { do: "launch", command: ["xterm", "-e", "cat"] },
      { do: "run", command: "true" },
      { do: "open", url: "http://a.test/" },
      { do: "open", url: "http://b.test/" },
    ]);
  });

  it.each([
    [{ type: "download", parameters: { files: [] } }],
    [{ type: "sleep" }],
    [{ type: "sleep", parameters: { seconds: 1e9 } }],
    [{ type: "toString", parameters: {} }],
    [{ do: "fly" }],
    [{}],
  ])("that there are not are refused: %j", (step) => {
    expect(() => readSetup([step], "config")).toThrow(/^config\.0: /);
  });
});
