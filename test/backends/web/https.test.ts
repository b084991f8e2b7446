import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import { testServer } from "../../kit/test-server.ts";
import { openWeb } from "./web-doubles.ts";

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

/** A certificate of `example.org` that nobody vouches for but who is told to. */
function makeCertificate(): { readonly key: string; readonly cert: string } {
  const folder = mkdtempSync(join(tmpdir(), "toolyard-certificate-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const names = ["-subj", "/CN=example.org", "-addext", "subjectAltName=DNS:example.org"];
  execFileSync("openssl", ["req", "-x509", ...curve, "-keyout", key, "-out", cert, "-days", "2", ...names], {
    stdio: "pipe",
  });
  return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
}

it.skipIf(!hasOpenssl)(
  "reads https from hosts whose certificate is theirs, and trusts no other (needs openssl)",
  async () => {
    const { key, cert } = makeCertificate();
    const secure = createServer({ key, cert }, (request, response) => response.end(`hello ${request.headers.host}`));
    secure.listen(0, "127.0.0.1");
    await once(secure, "listening");
    onTestFinished(() => void secure.close());
    // A listening server of this kind has an address with a port.
    const { port } = secure.address() as AddressInfo;
    const network = { lookup: async () => ["93.184.216.34"], dial: () => connect(port, "127.0.0.1") };
    const config = { http: { robots: "ignore", retry_delay_ms: 1 } };
    await using server = await testServer({ backends: [openWeb({ config, network })] });
    const fetchFrom = async (url: string) => (await server.execute("web:fetch", { url })).body;
    const untrusted = await fetchFrom("https://example.org/");
    expect(untrusted.meta).toMatchObject({ error: "upstream_failed", retryable: false });
    expect(untrusted.message).toContain("SELF_SIGNED");
    const before = getCACertificates("default");
    onTestFinished(() => setDefaultCACertificates(before));
    setDefaultCACertificates([...before, cert]);
    expect((await fetchFrom("https://example.org/")).data).toMatchObject({ status: 200, text: "hello example.org" });
    const mistaken = await fetchFrom("https://example.com/");
    expect(mistaken.meta).toMatchObject({ error: "upstream_failed", retryable: false });
    expect(mistaken.message).toContain("ERR_TLS_CERT_ALTNAME_INVALID");
  },
);
