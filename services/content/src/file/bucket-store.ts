import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import type { FileStore } from "./store.ts";
import { isStoredName } from "./stored-name.ts";

export interface BucketOptions {
  url: string;
  region: string;
  bucket: string;
  accessKey: string;
  secretKey: string;
}

const CONNECT_TIMEOUT_MS = 5_000;
const QUIET_MAX_MS = 30_000;

/** Files in a bucket of a server that speaks S3. Its client is loaded here, since most installations need none. */
export async function bucketStore(options: BucketOptions): Promise<FileStore> {
  const { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client, paginateListObjectsV2 } =
    await import("@aws-sdk/client-s3");
  const client = new S3Client({
    endpoint: options.url,
    region: options.region,
    credentials: { accessKeyId: options.accessKey, secretAccessKey: options.secretKey },
    // Servers at addresses of one's own have no name for each bucket.
    forcePathStyle: true,
    // Not every server knows the newer checksums.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: QUIET_MAX_MS },
  });
  const Bucket = options.bucket;
  const placeOf = (name: string) => {
    if (!isStoredName(name)) throw new Error("not a name of the store");
    return { Bucket, Key: name };
  };
  return {
    async put(name, path) {
      const { size } = await stat(path);
      const Body = createReadStream(path);
      await client.send(new PutObjectCommand({ ...placeOf(name), Body, ContentLength: size }));
    },
    async open(name, range) {
      const Range = range && `bytes=${range.start}-${range.end}`;
      try {
        const { Body } = await client.send(new GetObjectCommand({ ...placeOf(name), Range }));
        return Body as Readable | undefined;
      } catch (error) {
        if (error instanceof Error && error.name === "NoSuchKey") return undefined;
        throw error;
      }
    },
    async *list(after) {
      for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket, StartAfter: after }))
        for (const { Key = "", LastModified = new Date() } of Contents)
          if (isStoredName(Key)) yield { name: Key, keptAt: LastModified };
    },
    async delete(name) {
      await client.send(new DeleteObjectCommand(placeOf(name)));
    },
    close: () => client.destroy(),
  };
}
