import assert from "node:assert/strict";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Log } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { mmdbOf } from "../testing/mmdb.ts";
import { guessedZone } from "./guess-zone.ts";
import { openPlaces } from "./places.ts";

const folder = await mkdtemp(join(tmpdir(), "places-"));
after(() => rm(folder, { recursive: true }));

const cityRecord = (name: string) => ({
  country: { iso_code: "AT", names: { en: "Austria" } },
  subdivisions: [{ names: { en: "Vienna" } }],
  city: { names: { en: name } },
  postal: { code: "1010" },
  location: { time_zone: "Europe/Vienna" },
});

/** A log that keeps its errors. */
function logOf() {
  const errors: string[] = [];
  const log = { error: (_data: object, text: string) => errors.push(text), info: () => undefined };
  return { errors, log: log as unknown as Log };
}

test("the place of an address is read from the file, and again when the file is replaced", async () => {
  const file = join(folder, "city.mmdb");
  await writeFile(file, mmdbOf([93, 184, 216], cityRecord("Wien")));
  const { errors, log } = logOf();
  const places = await openPlaces(file, log, { lookMs: 20 });
  assert.deepEqual(places.placeOf("93.184.216.34"), {
    country: "Austria",
    region: "Vienna",
    city: "Wien",
    zipcode: "1010",
    timeZone: "Europe/Vienna",
    isp: "",
    organization: "",
  });
  for (const ip of ["93.184.217.1", "2001:db8::1", "", "x", "1.2.3.4.5"])
    assert.equal(places.placeOf(ip), undefined, ip);
  await writeFile(`${file}.new`, mmdbOf([93, 184, 216], cityRecord("Vindobona")));
  await rename(`${file}.new`, file);
  await eventually(() => assert.equal(places.placeOf("93.184.216.34")?.city, "Vindobona"));
  await writeFile(`${file}.new`, "no longer a database");
  await rename(`${file}.new`, file);
  await eventually(() => assert.equal(errors.length, 1));
  assert.equal(places.placeOf("93.184.216.34")?.city, "Vindobona", "the last one that could be read is used");
  await places.stop();
});

test("a file that is missing or broken is an error in the log at the start, and no place is known", async () => {
  const broken = join(folder, "broken.mmdb");
  await writeFile(broken, mmdbOf([1, 2, 3], cityRecord("x")).subarray(0, 100));
  for (const file of [join(folder, "missing.mmdb"), broken]) {
    const { errors, log } = logOf();
    const places = await openPlaces(file, log);
    assert.equal(errors.length, 1, file);
    assert.equal(places.placeOf("1.2.3.4"), undefined);
    await places.stop();
  }
});

test("a record whose members have other types than places have is no place", async () => {
  const file = join(folder, "odd.mmdb");
  await writeFile(file, mmdbOf([1, 2, 3], { country: "Austria", city: { names: ["x"] }, subdivisions: {} }));
  const places = await openPlaces(file, logOf().log);
  assert.equal(places.placeOf("1.2.3.4"), undefined);
  await places.stop();
});

test("the network of an address is read from files with places and from those of networks alone", async () => {
  const file = join(folder, "network.mmdb");
  const network = { isp: "Example Net", organization: "Example Ltd" };
  for (const [record, organization] of [
    [{ ...cityRecord("Wien"), traits: network }, "Example Ltd"],
    [network, "Example Ltd"],
    [{ isp: "Example Net", autonomous_system_organization: "AS of Example" }, "AS of Example"],
  ] as const) {
    await writeFile(file, mmdbOf([93, 184, 216], record));
    const places = await openPlaces(file, logOf().log);
    const place = places.placeOf("93.184.216.34");
    assert.deepEqual([place?.isp, place?.organization], ["Example Net", organization]);
    await places.stop();
  }
});

test("each time zone that is guessed by an offset is one that contacts may have", () => {
  const known = new Set(Intl.supportedValuesOf("timeZone"));
  for (let offset = -840; offset <= 720; offset += 30) {
    const zone = guessedZone(String(offset));
    assert.ok(zone === "" || known.has(zone), zone);
  }
  for (const [offset, zone] of [
    ["-60", "Europe/Paris"],
    ["0", "Europe/London"],
    ["7", ""],
    ["toString", ""],
  ] as const)
    assert.equal(guessedZone(offset), zone);
});
