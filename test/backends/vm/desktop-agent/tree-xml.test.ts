import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentNode } from "../../../../src/backends/vm/desktop-agent/agent-answers.ts";
import { toXml } from "../../../../src/backends/vm/desktop-agent/tree-xml.ts";
import { View } from "../../../../src/backends/vm/screen/view.ts";

const node = (parent: number | null, fields: Partial<AgentNode> = {}): AgentNode => ({
  ...{
    ref: "e1",
    role: "panel",
    name: "",
    description: "",
    text: null,
    value: null,
    states: [],
    box: null,
    actions: [],
  },
  parent,
  depth: 0,
  ...fields,
});
const view = new View({ width: 200, height: 100 }, { scale: 0.5 });

describe("a tree as XML", () => {
  it("is what OSWorld's readers know, in pixels of the screenshots, with refs", () => {
    const xml = toXml(
      [
        node(null, { ref: "e1", role: "application", name: "editor" }),
        node(0, {
          ...{ ref: "e2", role: "push button", name: 'say "<hi>" & go', states: ["has-popup"], value: 0.5 },
          ...{ box: [20, 10, 41, 20], actions: ["Click", "Click", ""], text: "a < b" },
        }),
        node(0, { ref: "e3" }),
        node(null, { ref: "e4", role: "2nd?" }),
      ],
      view,
    );
    expect(xml).toMatch(
      /^<desktop-frame xmlns:attr="[^"]+" .*<application ref="e1" name="editor"><push-button ref="e2" /,
    );
    expect(xml).toContain('name="say &quot;&lt;hi&gt;&quot; &amp; go"');
    expect(xml).toContain(">a &lt; b</push-button>");
    expect(xml).toContain('st:has-popup="true" cp:screencoord="(10, 5)" cp:size="(21, 10)" val:value="0.5"');
    expect(xml).toContain('act:click_desc="Click">');
    expect(xml).toContain('<panel ref="e3" name=""/></application><unknown-2nd ref="e4" name=""/></desktop-frame>');
  });

  it("keeps every element and every name, whatever programs call themselves", () => {
    const any = fc.string({ unit: "binary", maxLength: 12 });
    const nodes = fc.array(fc.record({ parent: fc.nat(), name: any, role: any, text: fc.option(any), state: any }), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(nodes, (given) => {
        const xml = toXml(
          given.map(({ parent, name, role, text, state }, index) =>
            node(index === 0 ? null : parent % index, { ref: `e${index + 1}`, name, role, text, states: [state] }),
          ),
          view,
        );
        // oxlint-disable-next-line no-control-regex -- they are what XML cannot hold
        expect(xml).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/);
        const opened = [...xml.matchAll(/<[A-Za-z][^<>]*>/g)];
        expect(opened).toHaveLength(given.length + 1);
        const refs = opened.map(([tag]) => /ref="(e\d+)"/.exec(tag)?.[1]).filter((ref) => ref !== undefined);
        expect(refs.toSorted()).toEqual(given.map((_, index) => `e${index + 1}`).toSorted());
        const selfClosed = opened.filter(([tag]) => tag.endsWith("/>")).length;
        expect([...xml.matchAll(/<\/[A-Za-z]/g)]).toHaveLength(given.length + 1 - selfClosed);
      }),
    );
  });
});
