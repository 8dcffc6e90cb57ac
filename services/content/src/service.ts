import { CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import { CategoryService } from "@tidings/proto/tidings/content/v1/category_service";
import { implement } from "@tidings/rpc/server";
import { serveHttp } from "@tidings/runtime/http-server";
import type { Foundation, Parts } from "@tidings/service/start-service";
import { resourceSnapshots } from "@tidings/store/snapshots";
import { standardHandlers } from "@tidings/store/standard-handlers";
import { categories } from "./category.ts";
import type { ContentConfig } from "./config.ts";
import { webApp } from "./web.ts";

/** Categories, and everything that is shown or sent to people. */
export async function openContentService({
  config,
  database,
  outbox,
}: Foundation<ContentConfig>): Promise<Parts> {
  const context = { database, outbox };
  const web = await serveHttp({ port: config.WEB_PORT, host: config.INTERNAL_ADDRESS }, webApp());
  return {
    services: [implement(CategoryService, standardHandlers(CategoryService, categories(context)))],
    work: { "public web": { stop: web.drain } },
    snapshots: [resourceSnapshots(database, CategorySchema)],
  };
}
