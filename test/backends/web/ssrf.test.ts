import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { testServer } from "../../kit/test-server.ts";
import { openSite, openWeb } from "./web-doubles.ts";

/** Every spelling of an address or name that is not the public's. */
const REFUSED = [
  "http://169.254.169.254/latest/meta-data/",
  "http://[::ffff:169.254.169.254]/",
  "http://[::169.254.169.254]/",
  "http://[64:ff9b::a9fe:a9fe]/",
  "http://[2002:a9fe:a9fe::1]/",
  "http://100.100.100.200/",
  "http://127.1/",
  "http://127.0.0.1/",
  "http://0x7f000001/",
  "http://0x7f.1/",
  "http://2130706433/",
  "http://017700000001/",
  "http://0/",
  "http://0.0.0.0/",
  "http://localhost/",
  "http://localhost./",
  "http://LOCALHOST/",
  "http://①②⑦.⓪.⓪.①/",
  "http://127。0。0。1/",
  "http://[::1]/",
  "http://[::]/",
  "http://[0:0:0:0:0:0:0:1]/",
  "http://[fd00::8]/",
  "http://[fe80::1]/",
  "http://10.0.0.1/",
  "http://192.168.1.1/",
  "http://172.16.0.1/",
  "http://224.0.0.1/",
  "https://127.0.0.1/",
] as const;

const INVALID = [
  "gopher://127.0.0.1:70/",
  "file:///etc/passwd",
  "ftp://example.org/",
  "data:text/html,hello",
  "javascript:alert(1)",
  "http://user:password@example.org/",
  "http://[fe80::1%25eth0]/",
  "http://",
  "nonsense",
] as const;

describe.each(["web:visit", "web:fetch"])("%s", (action) => {
  const toParams = (url: string) => (action === "web:visit" ? { urls: url } : { url });

  it.each(REFUSED)("B09 refuses %s", async (url) => {
    await using server = await testServer({ backends: [openWeb({ config: { http: { robots: "ignore" } } })] });
    const { body, status } = await server.execute(action, toParams(url));
    expect(body.meta).toMatchObject({ error: "address_refused", outcome: "rejected", retryable: false });
    expect(status).toBe(403);
  });

  it.each(INVALID.filter((url) => action === "web:fetch" || url !== "nonsense"))("B09 refuses %s", async (url) => {
    await using server = await testServer({ backends: [openWeb({ config: {} })] });
    const { body } = await server.execute(action, toParams(url));
    expect(body.meta).toMatchObject({ error: "invalid_url", outcome: "rejected" });
  });

  it.each([...REFUSED.slice(0, 12), "file:///etc/passwd", "gopher://127.0.0.1:70/", "//[::1]/x"])(
    "B09 refuses a redirect to %s",
    async (location) => {
      const site = await openSite({ "/": (response) => void response.writeHead(302, { location }).end() });
      const config = { http: { private_hosts: [site.host], robots: "ignore" } };
      await using server = await testServer({ backends: [openWeb({ config })] });
      const { body } = await server.execute(action, toParams(site.url));
      expect(body.meta).toMatchObject({ outcome: "rejected" });
      expect(["address_refused", "invalid_url"]).toContain(body.meta?.error);
    },
  );

  it("B09 refuses a name that resolves to private addresses, and takes only the public ones of one that has both", async () => {
    const site = await openSite({ "/": "<p>public</p>" });
    const dialed: string[] = [];
    const network = {
      lookup: async (name: string) => (name === "mixed.test" ? ["10.0.0.1", "93.184.216.34"] : ["192.168.0.7", "::1"]),
      dial: (address: string) => {
        dialed.push(address);
        return connect(site.port, "127.0.0.1");
      },
    };
    await using server = await testServer({ backends: [openWeb({ config: { http: { robots: "ignore" } }, network })] });
    expect((await server.execute(action, toParams("http://inner.test/"))).body.meta?.error).toBe("address_refused");
    expect((await server.execute(action, toParams("http://mixed.test/"))).status).toBe(200);
    expect(dialed).toEqual(["93.184.216.34"]);
  });

  it("B10 connects to the address that was judged, and judges anew when the resolver changes its mind", async () => {
    const secret = await openSite({ "/": "<p>secret</p>" });
    const site = await openSite({
      "/": "<p>public</p>",
      "/again": (response) => void response.writeHead(302, { location: "http://rebind.test/" }).end(),
    });
    const answers: string[] = [];
    const lookups: string[] = [];
    const dialed: string[] = [];
    const network = {
      lookup: async (name: string) => {
        lookups.push(name);
        return [answers.shift() ?? "127.0.0.1"];
      },
      // A public address leads to the double, as the network would; a private one to what must not be seen.
      dial: (address: string) => {
        dialed.push(address);
        return connect(address === "93.184.216.34" ? site.port : secret.port, "127.0.0.1");
      },
    };
    await using server = await testServer({ backends: [openWeb({ config: { http: { robots: "ignore" } }, network })] });
    answers.push("93.184.216.34");
    const first = await server.execute(action, toParams("http://rebind.test/"));
    expect(first.status).toBe(200);
    expect(lookups).toEqual(["rebind.test"]);
    answers.push("93.184.216.34");
    const second = await server.execute(action, toParams("http://rebind.test/again"));
    expect(second.body.meta?.error).toBe("address_refused");
    expect(dialed).toEqual(["93.184.216.34", "93.184.216.34"]);
    expect(secret.requests).toEqual([]);
  });

  it("B09 refuses ports that are not allowed, of public hosts too", async () => {
    const network = { lookup: async () => ["93.184.216.34"], dial: () => expect.unreachable() };
    await using server = await testServer({ backends: [openWeb({ config: {}, network })] });
    for (const port of [22, 25, 6379, 8080]) {
      // oxlint-disable-next-line no-await-in-loop
      const { body } = await server.execute(action, toParams(`http://example.org:${port}/`));
      expect(body.meta?.error).toBe("address_refused");
      expect(body.data).toMatchObject({ port, ports: [80, 443] });
    }
  });

  it("reaches a listed private host at its port alone", async () => {
    const [listed, other] = [await openSite({ "/": "<p>here</p>" }), await openSite({ "/": "<p>secret</p>" })];
    const config = { http: { private_hosts: [listed.host] } };
    await using server = await testServer({ backends: [openWeb({ config })] });
    expect((await server.execute(action, toParams(listed.url))).status).toBe(200);
    expect((await server.execute(action, toParams(other.url))).body.meta?.error).toBe("address_refused");
    expect((await server.execute(action, toParams(`http://localhost:${listed.port}/`))).body.meta?.error).toBe(
      "address_refused",
    );
    expect(other.requests).toEqual([]);
  });
});

it("B09 says of a name that there is not that the name is wrong, which is the model's matter", async () => {
  const lookup = async () => {
    throw Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
  };
  await using server = await testServer({ backends: [openWeb({ config: {}, network: { lookup } })] });
  const { body } = await server.execute("web:visit", { urls: "http://made-up.example/" });
  expect(body.meta).toMatchObject({ error: "upstream_failed", outcome: "tool_error", retryable: false });
});
