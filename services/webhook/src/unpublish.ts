import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { backgroundDeadline, type Database } from "@tidings/database/database";
import { type Webhook, WebhookSchema } from "@tidings/proto/tidings/webhook/v1/webhook";
import type { Repository } from "@tidings/resource/repository-options";
import { Code, Fault } from "@tidings/rpc/fault";
import type { Log } from "@tidings/runtime/log";
import { serviceCall } from "./service-actor.ts";

/** Switches a webhook off whose receiver is gone. Published again, it has five days again. */
export function createUnpublish(database: Database, webhooks: Repository<Webhook>, log: Log) {
  return async (webhookId: number): Promise<void> => {
    log.warn({ webhook: webhookId }, "webhook is unpublished: its receiver is gone");
    await webhooks.update(switchedOff(webhookId), serviceCall()).catch((error) => {
      if (!(error instanceof Fault && error.code === Code.NOT_FOUND)) throw error; // deleted meanwhile
    });
    const text = "delete from failing_webhooks where webhook_id = $1";
    await database.query({ text }, [webhookId], backgroundDeadline());
  };
}

function switchedOff(id: number) {
  return {
    id,
    message: create(WebhookSchema, { isPublished: false }),
    updateMask: create(FieldMaskSchema, { paths: ["is_published"] }),
    allowMissing: false,
  };
}
