import { type Notification, NotificationSchema } from "@tidings/proto/tidings/content/v1/notification";
import { repository } from "@tidings/resource/repository";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import { checkUtmTags } from "../family/utm-tags.ts";
import { checkWebAddress } from "../family/web-address.ts";

export function notifications(context: ResourceContext): Repository<Notification> {
  return repository<Notification>(context, NotificationSchema, {
    prepare: (draft) => [...checkWebAddress("url", draft.url), ...checkUtmTags(draft)],
  });
}
