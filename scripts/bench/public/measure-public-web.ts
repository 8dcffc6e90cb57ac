import { UNLIMITED_VISITORS } from "../../unlimited-visitors.ts";
import { type Comparison, compare } from "../compare.ts";
import type { Target } from "../measure.ts";
import type { BenchOptions } from "../options.ts";
import { type Line, printLine } from "../report.ts";
import { startBareServer } from "../start-bare-server.ts";
import type { TemporaryStack } from "../temporary-stack.ts";
import { measureBesideReads } from "./beside-reads.ts";
import { measureDownloads } from "./downloads.ts";
import { measureHitCost } from "./hit-cost.ts";
import { measureHitToMember } from "./hit-to-member.ts";
import { measureManyHits } from "./many-hits.ts";
import {
  printBesideReads,
  printDownloads,
  printHitCost,
  printHitToMember,
  printManyHits,
} from "./public-report.ts";
import type { PublicWeb } from "./public-web.ts";
import { publicWorkloads } from "./workloads.ts";

/** Variables without which all requests of one machine would be refused, and a file of 100 MB too. */
export const UNLIMITED = {
  content: { UPLOAD_BYTES_MAX: String(200 * 1024 * 1024) },
  gateway: { ...UNLIMITED_VISITORS, PUBLIC_REQUESTS_IN_FLIGHT: "4096" },
};

/** Rows, by the names that `--only` has for them: `public` is all. */
export const PUBLIC_ROWS = [
  ...["public-hit", "public-page", "public-submit"],
  ...["public-cpu", "public-asset", "public-member", "public-beside", "public-many"],
];

interface PublicBench {
  options: BenchOptions;
  own: TemporaryStack;
  ours: Target;
  web: PublicWeb;
  isWanted(name: string): boolean;
}

/** All rows of the public web. `lines` have a bare server beside them, and are compared with earlier runs. */
export async function measurePublicWeb({ own, ours, options, web, isWanted }: PublicBench) {
  const { url, pid } = own.postgres;
  const { contacts, seconds, hits } = options;
  const { site, drained, processes } = web;
  const server = await startBareServer("public/bare-web-server.ts", {
    DATABASE_URL: url,
    ASSET_FILE: site.assetFile,
  });
  try {
    const bare: Target = { url: server.url, headers: {}, pids: [server.pid, pid] };
    const lines: Line[] = [];
    for (const workload of publicWorkloads(site, drained).filter(({ name }) => isWanted(name))) {
      const { name, title, goal } = workload;
      const comparison: Comparison = await compare(workload, { ours: visitorOf(ours), bare }, options);
      lines.push({ name, title, goal, ...comparison });
      printLine({ name, title, goal, ...comparison });
    }
    const rest = {
      cost: isWanted("public-cpu")
        ? shown(
            await measureHitCost(ours, site, {
              contacts,
              seconds,
              drained,
              processes: [...processes, { name: "postgres", pid }],
            }),
            printHitCost,
          )
        : undefined,
      // A process keeps what large answers made it take: memory is looked at before those.
      member: isWanted("public-member")
        ? shown(await measureHitToMember(ours, url, site), printHitToMember)
        : undefined,
      besideReads: isWanted("public-beside")
        ? shown(await measureBesideReads(ours, site, { contacts, drained, processes }), printBesideReads)
        : undefined,
      downloads: isWanted("public-asset")
        ? shown(
            await measureDownloads(
              { ours, bare },
              site.assetPath,
              processes.filter(({ name }) => ["gateway", "content"].includes(name)),
            ),
            printDownloads,
          )
        : undefined,
      manyHits: isWanted("public-many")
        ? shown(
            await measureManyHits(visitorOf(ours), url, { hits, contacts, seconds, drained }),
            printManyHits,
          )
        : undefined,
    };
    return { lines, rest };
  } finally {
    await server.stop();
  }
}

/** Visitors are signed in nowhere. */
function visitorOf(target: Target): Target {
  return { ...target, headers: {} };
}

function shown<T>(result: T, print: (result: T) => void): T {
  print(result);
  return result;
}
