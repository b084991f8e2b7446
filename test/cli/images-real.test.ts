import Docker from "dockerode";
import { afterEach, describe, expect, it } from "vitest";
import { runCli } from "./cli-process.ts";

const engine = new Docker({ socketPath: "/var/run/docker.sock" });
const answers = await engine.ping().then(
  () => true,
  () => false,
);
if (!answers) console.log("no Docker Engine answers: the tests of real images are skipped");
const present = answers
  ? (await engine.listImages({ filters: { label: ["toolyard.image"] } })).flatMap(({ RepoTags }) => RepoTags ?? [])
  : [];

// Here, so that a test that ran out of time leaves none either.
const made: Docker.Container[] = [];
afterEach(async () => {
  for (const container of made.splice(0)) await container.remove({ force: true });
});

/** What a container of the image prints, without a network, with everything taken away that can be. */
async function runIn(image: string, script: string): Promise<string> {
  const container = await engine.createContainer({
    Image: image,
    Cmd: ["bash", "-c", script],
    Labels: { "toolyard-test": "images" },
    // Output of a terminal is one stream, and comes as it is.
    Tty: true,
    Env: ["NO_COLOR=1", "NODE_DISABLE_COLORS=1"],
    HostConfig: {
      NetworkMode: "none",
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      Tmpfs: { "/workspace": "rw,exec,uid=1000,gid=1000", "/tmp": "rw,exec" },
      PidsLimit: 64,
      Memory: 512 * 1024 * 1024,
    },
  });
  made.push(container);
  await container.start();
  await container.wait();
  return String(await container.logs({ stdout: true, stderr: true })).replaceAll("\r", "");
}

const COMMON = `id -un; id -u; echo $HOME; pwd; find / -xdev -type f -perm /6000 2>/dev/null | wc -l
python3 -c 'import json, ssl, sqlite3, sys; print(sys.version_info >= (3, 11))'
node -p 'parseInt(process.versions.node) >= 18'; touch file && ls -A; touch /usr/file 2>&1 | grep -c Read-only`;
const EXPECTED = ["sandbox", "1000", "/workspace", "/workspace", "0", "True", "true", "file", "1"];

describe.skipIf(!answers)("the image code-slim", () => {
  it("is built where it is missing, and is what a sandbox needs", { timeout: 600_000 }, async () => {
    const { code, stdout, stderr } = await runCli(["images", "build", "code-slim", "--json"]);
    expect(code, stderr).toBe(0);
    const [image] = JSON.parse(stdout).images;
    expect(image).toMatchObject({ name: "code-slim", reference: "toolyard/code-slim:latest" });
    expect(image.size_bytes).toBeLessThan(400e6);
    expect((await runIn("toolyard/code-slim", COMMON)).trim().split("\n")).toEqual(EXPECTED);
    const again = JSON.parse((await runCli(["images", "build", "code-slim", "--json"])).stdout);
    expect(again.images).toMatchObject([{ unchanged: true, version: image.version }]);
  });
});

if (answers && !present.includes("toolyard/code:latest")) {
  console.log("the image code is not built (toolyard images build code): its test is skipped");
}

describe.skipIf(!present.includes("toolyard/code:latest"))("the image code", () => {
  // Four seconds of work, on machines that may have other things to do.
  it("has what data analysis and programming need", { timeout: 300_000 }, async () => {
    const programs = "git jq rg gcc g++ make curl pip less file unzip zip xz ps";
    const printed = await runIn(
      "toolyard/code",
      `${COMMON}; for p in ${programs}; do command -v $p >/dev/null || echo no $p; done
python3 -c '
import io, threading, numpy, pandas, scipy.linalg, scipy.stats, requests, openpyxl, jinja2, tabulate
import matplotlib.pyplot as plot
numpy.ones((500, 500)) @ numpy.ones((500, 500))
print(open("/proc/self/status").read().split("Threads:")[1].split()[0])
plot.plot([1, 2]); picture = io.BytesIO(); plot.savefig(picture)
print(plot.get_backend().lower(), picture.getvalue()[1:4].decode())'
printf '#include <iostream>\nint main() { std::cout << 42 << std::endl; }' > a.cc && g++ a.cc && ./a.out
python3 -m venv --without-pip v && echo venv; pip install --no-index nothing 2>&1 | grep -c externally-managed`,
    );
    expect(printed.trim().split("\n")).toEqual([...EXPECTED, "1", "agg PNG", "42", "venv", "0"]);
  });
});
