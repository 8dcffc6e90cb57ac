import { type Device, DeviceSchema } from "@tidings/proto/tidings/contact/v1/device";
import { DeviceService } from "@tidings/proto/tidings/contact/v1/device_service";
import { parseJson } from "@tidings/resource/json-member";
import { repository } from "@tidings/resource/repository";
import type { ResourceContext } from "@tidings/resource/repository-options";
import { standardHandlers } from "@tidings/resource/standard-handlers";
import type { Handlers } from "@tidings/rpc/definition";
import type { Violation } from "@tidings/rpc/fault";
import { listOfContact, OWNED_THROUGH_CONTACT } from "./contact-reference.ts";

export function deviceRepository(context: ResourceContext) {
  return repository<Device>(context, DeviceSchema, {
    owner: OWNED_THROUGH_CONTACT,
    prepare: prepareDevice,
  });
}

export function deviceHandlers(context: ResourceContext): Handlers<typeof DeviceService> {
  const handlers = standardHandlers(DeviceService, deviceRepository(context));
  return {
    ...handlers,
    listDevices: async (request, call) =>
      handlers.listDevices({ ...request, query: await listOfContact(context.database, request, call) }, call),
  };
}

function prepareDevice(draft: Device, { before }: { before: Device | undefined }): Violation[] {
  // The event of the change concerns both contacts.
  const previousId = before?.contact?.id;
  if (previousId !== undefined && previousId !== draft.contact?.id) draft.previousContactId ??= previousId;
  const isGood = draft.clientInfo === undefined || typeof parseJson(draft.clientInfo) === "object";
  return isGood ? [] : [{ field: "clientInfo", message: "It is a list or an object." }];
}
