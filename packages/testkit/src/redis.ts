import { type Redis, startRedis } from "@tidings/embedded/redis";
import { temporaryFolder } from "./temporary-folder.ts";

/** A Redis for one test file. */
export async function startTestRedis(): Promise<Redis> {
  const folder = await temporaryFolder();
  const redis = await startRedis({ dataDir: folder.path });
  return { ...redis, stop: () => redis.stop().then(folder.remove) };
}
