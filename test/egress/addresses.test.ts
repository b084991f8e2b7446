import { describe, expect, it } from "vitest";
import { AddressPolicy } from "../../src/egress/addresses.ts";

const REFUSED = [
  "0.0.0.0",
  "10.1.2.3",
  "100.100.100.200",
  "127.0.0.1",
  "127.255.255.254",
  "169.254.169.254",
  "172.16.0.1",
  "192.0.2.1",
  "192.168.1.1",
  "198.18.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::7f00:1",
  "::169.254.169.254",
  "::ffff:169.254.169.254",
  "::ffff:10.0.0.1",
  "64:ff9b::a9fe:a9fe",
  "2002:a9fe:a9fe::1",
  "2001:0:a9fe:a9fe::1",
  "fd00::8",
  "fe80::1",
  "fe80::1%eth0",
  "ff02::1",
  "2001:db8::1",
  "localhost",
  "",
  "1.2.3.4.5",
];

describe("address policy", () => {
  it.each(REFUSED)("B09 refuses %s", (address) => {
    expect(new AddressPolicy().allows(address)).toBe(false);
  });

  it.each(["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1"])(
    "allows the public address %s",
    (address) => {
      expect(new AddressPolicy().allows(address)).toBe(true);
    },
  );

  it("allows what the config adds, and nothing beside it", () => {
    const policy = new AddressPolicy(["127.0.0.0/8", "fd00::8", "10.0.0.5"]);
    expect(
      ["127.0.0.1", "127.9.9.9", "fd00::8", "10.0.0.5", "::ffff:127.0.0.1"].map((each) => policy.allows(each)),
    ).toEqual([true, true, true, true, true]);
    expect(["10.0.0.6", "fd00::9", "::1"].map((each) => policy.allows(each))).toEqual([false, false, false]);
  });

  it("refuses a range that is none, with an example", () => {
    expect(() => new AddressPolicy(["10.0.0.0/99"])).toThrow(/neither an address nor a range/);
    expect(() => new AddressPolicy(["localhost"])).toThrow(/neither/);
  });
});
