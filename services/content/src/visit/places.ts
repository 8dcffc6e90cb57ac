import { readFile, stat } from "node:fs/promises";
import type { Log } from "@tidings/runtime/log";
import { type CityResponse, type IspResponse, Reader } from "mmdb-lib";

/** The place of an address, in English; members are empty where the file does not know them. */
export interface Place {
  country: string;
  region: string;
  city: string;
  zipcode: string;
  /** As the IANA database of time zones names it. */
  timeZone: string;
  isp: string;
  organization: string;
}

/** The place of an address, where it is known. */
export type PlaceOf = (ip: string) => Place | undefined;

export interface Places {
  placeOf: PlaceOf;
  /** Ends the look at the file. */
  stop(): Promise<void>;
}

const LOOK_MS = 30_000;
const TEXT_LENGTH_MAX = 191;

/** Reads places of addresses from a file in the MaxMind DB format, again whenever the file was replaced. While it cannot be read, the last one is used. */
export async function openPlaces(
  file: string | undefined,
  log: Log,
  { lookMs = LOOK_MS }: { lookMs?: number } = {},
): Promise<Places> {
  if (file === undefined) return { placeOf: () => undefined, stop: async () => undefined };
  let reader: Reader<CityResponse> | undefined;
  let seen = "";
  const look = async () => {
    const version = await versionOf(file);
    if (version === seen) return;
    seen = version;
    try {
      reader = new Reader<CityResponse>(await readFile(file));
      log.info({ file, type: reader.metadata.databaseType }, "places of addresses were read");
    } catch (error) {
      log.error({ err: error, file }, "GEOIP_FILE cannot be read: places of addresses are not known");
    }
  };
  await look();
  const looking = setInterval(() => void look(), lookMs).unref();
  return {
    placeOf(ip) {
      if (!reader || ip === "") return undefined;
      try {
        return placeIn(reader.get(ip));
      } catch {
        return undefined; // no address, or a part of the file that is damaged
      }
    },
    async stop() {
      clearInterval(looking);
    },
  };
}

/** Changes with each version of the file, also where a link in its path leads elsewhere. */
async function versionOf(file: string): Promise<string> {
  const found = await stat(file).catch(() => undefined); // reading it says why
  return found ? `${found.ino} ${found.size} ${found.mtimeMs}` : "missing";
}

function placeIn(record: CityResponse | null): Place | undefined {
  if (!record) return undefined;
  const { country, subdivisions, city, postal, location } = record;
  // Files with places have networks in `traits`, those of networks alone at the top.
  const network = { ...record, ...record.traits } as Partial<IspResponse>;
  const place = {
    country: textOf(country?.names?.en),
    region: textOf(subdivisions?.[0]?.names?.en),
    city: textOf(city?.names?.en),
    zipcode: textOf(postal?.code),
    timeZone: textOf(location?.time_zone),
    isp: textOf(network.isp),
    organization: textOf(network.organization ?? network.autonomous_system_organization),
  };
  return Object.values(place).some((text) => text !== "") ? place : undefined;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, TEXT_LENGTH_MAX) : "";
}
