import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { onPort } from "./free-port.ts";
import { goProgram } from "./go-program.ts";
import { startServer } from "./server-process.ts";

export interface S3 {
  url: string;
  region: string;
  accessKey: string;
  secretKey: string;
  bucket: string;
  stop(): Promise<void>;
}

const VERSITYGW = { package: "github.com/versity/versitygw/cmd/versitygw", version: "v1.8.0" };
const LOGIN = { accessKey: "tidings", secretKey: "tidings-secret" };
const BUCKET = "tidings";

/** A server that speaks S3 on 127.0.0.1, with one bucket, which is a folder in `dataDir`. */
export async function startS3({ dataDir }: { dataDir: string }): Promise<S3> {
  const command = await goProgram(VERSITYGW);
  const files = join(dataDir, "files");
  await mkdir(join(files, BUCKET), { recursive: true });
  return onPort(undefined, async (port) => {
    const { stop } = await startServer({
      name: "versitygw",
      command,
      args: [
        "--access",
        LOGIN.accessKey,
        "--secret",
        LOGIN.secretKey,
        "--port",
        `127.0.0.1:${port}`,
        "posix",
        files,
      ],
      dataDir,
      readyText: `http://127.0.0.1:${port}`,
    });
    return { url: `http://127.0.0.1:${port}`, region: "us-east-1", bucket: BUCKET, ...LOGIN, stop };
  });
}
