import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Backend } from "../../src/core/backend.ts";
import { tool } from "../../src/core/tool.ts";
import { testEngine } from "../kit/test-engine.ts";

class Forms extends Backend {
  readonly resource = "forms";

  @tool({
    description: "Take a form.",
    params: z.strictObject({
      name: z.string(),
      size: z.int().max(10).default(3),
      side: z.enum(["left", "right"]).optional(),
      label: z.string().nullable().default("none"),
      options: z
        .strictObject({ depth: z.int().optional(), filter: z.record(z.string(), z.string()).optional() })
        .optional(),
      lines: z
        .array(z.union([z.string(), z.strictObject({ text: z.string(), size: z.int().default(1), any: z.unknown() })]))
        .optional(),
    }),
  })
  fill(form: unknown) {
    return form;
  }

  @tool({ description: "Has a param of a reserved name.", params: z.object({ session_id: z.string() }) })
  own(form: unknown) {
    return form;
  }

  @tool({ description: "Takes no params." })
  bare(form: unknown) {
    return form;
  }
}

const { call } = testEngine([new Forms({ config: {} })]);

describe("a call's params", () => {
  it("are given to the tool with the schema's defaults", async () => {
    expect(await call("forms:fill", { name: "a" })).toMatchObject({ ok: true, data: { name: "a", size: 3 } });
  });

  it.each([
    [{}, "missing_field", 4003, "name: is required"],
    [{ name: 1 }, "invalid_type", 4004, "name: "],
    [{ name: "a", size: "1" }, "invalid_type", 4004, "size: "],
    [{ name: "a", size: 11 }, "invalid_input", 4000, "size: "],
    [{ name: "a", side: "up" }, "invalid_input", 4000, "side: "],
    [{ name: "a", sise: 1 }, "invalid_input", 4000, 'unknown "sise"; did you mean side, size?'],
    [{ size: "1" }, "missing_field", 4003, "name: is required; size: "],
    [{ name: "a", lines: [true] }, "invalid_input", 4000, "lines.0: Invalid input: expected string or object"],
    [
      { name: "a", lines: [{ text: 1 }] },
      "invalid_input",
      4000,
      "lines.0.text: Invalid input: expected string, received",
    ],
    [{ name: "a", lines: [{ text: "b", any: 0, sice: 1 }] }, "invalid_input", 4000, 'lines.0: unknown "sice"'],
  ])("%j are refused as %s", async (params, error, code, message) => {
    const result = await call("forms:fill", params);
    expect(result).toMatchObject({ ok: false, error: { error, code, status: 400, outcome: "rejected" } });
    expect(result.ok ? "" : result.error.message).toContain(message);
    expect(result.ok ? "" : result.error.suggestion).toContain("/api/v1/tools/forms:fill/schema");
  });

  it("that an object inside has too much are not told to be params of the tool", async () => {
    const result = await call("forms:fill", { name: "a", options: { nam: 1 } });
    expect(result.ok ? "" : result.error.message).toBe('forms:fill: options: unknown "nam"');
  });

  it("may be null where they may be left out, as clients in Python and models send them", async () => {
    const said = await call("forms:fill", { name: "a", size: null, side: null });
    expect(said.ok ? said.data : said.error).toEqual({ name: "a", size: 3, label: "none" });
    // Null is a value of this one's own.
    expect(await call("forms:fill", { name: "a", side: null, label: null })).toMatchObject({ data: { label: null } });
    expect(await call("forms:fill", { name: null })).toMatchObject({ ok: false, error: { error: "invalid_type" } });
    const wrong = await call("forms:fill", { name: "a", size: "1", side: null });
    expect(wrong).toMatchObject({ ok: false, error: { error: "invalid_type" } });
    expect(wrong.ok ? "" : wrong.error.message).not.toContain("side");
    expect(await call("forms:bare", { more: null })).toMatchObject({ ok: false, error: { error: "invalid_input" } });
  });

  it("may hold nulls in objects that mean nothing said; in lists and records a null is a value", async () => {
    const form = {
      name: "a",
      options: { depth: null, filter: null },
      lines: [{ text: "b", size: null, any: null }, "c"],
    };
    expect(await call("forms:fill", form)).toMatchObject({
      ok: true,
      data: { options: {}, lines: [{ text: "b", size: 1, any: null }, "c"] },
    });
    for (const wrong of [
      { options: { filter: { key: null } } },
      { lines: [null] },
      { lines: [{ text: null }] },
      { options: { depth: null, other: null } },
    ]) {
      // oxlint-disable-next-line no-await-in-loop
      expect(await call("forms:fill", { name: "a", ...wrong }), JSON.stringify(wrong)).toMatchObject({ ok: false });
    }
  });

  it("lose what the known clients send along, unless the tool asks for it", async () => {
    const sent = { worker_id: "w", session_id: "s", session_info: {}, trace_id: "t" };
    expect(await call("forms:bare", sent)).toMatchObject({ ok: true, data: {} });
    expect(await call("forms:fill", { name: "a", ...sent })).toMatchObject({ ok: true, data: { name: "a", size: 3 } });
    expect(await call("forms:own", sent)).toMatchObject({ ok: true, data: { session_id: "s" } });
    expect(await call("forms:bare", { more: 1 })).toMatchObject({ ok: false, error: { error: "invalid_input" } });
  });
});
