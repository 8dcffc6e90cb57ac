import { StageService } from "@tidings/proto/tidings/campaign/v1/stage_service";
import { ContactMethodService } from "@tidings/proto/tidings/contact/v1/contact";
import { SUCCESS } from "../route/answer.ts";
import { entityId } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import { oldMemberPath } from "./old-paths.ts";
import type { RoutesContext } from "./routes-context.ts";

/** Routes of stages beyond the standard operations. */
export function stageRoutes({ clients }: RoutesContext): Route[] {
  const stages = clients.of(StageService);
  const contacts = clients.of(ContactMethodService);
  const move = (verb: "add" | "remove", summary: string) =>
    route({
      method: "POST",
      path: `/stages/:id/contact/:contactId/${verb}`,
      summary,
      rpc: StageService.method.getStage,
      operation: `${verb}StageContact`,
      parameters: {
        id: entityId("stages", "view"),
        contactId: entityId("contacts", "edit", { missing: "Contact not found.", isAskedAnew: true }),
      },
      answer: SUCCESS,
      aliases: oldMemberPath("stages", verb),
      async handle({ parameters: { id: stageId, contactId }, options }) {
        await stages.getStage({ id: stageId }, options);
        await contacts.setContactStage({ id: contactId, stageId, isRemoved: verb === "remove" }, options);
      },
    });
  return [move("add", "Put a contact into a stage"), move("remove", "Take a contact out of a stage")];
}
