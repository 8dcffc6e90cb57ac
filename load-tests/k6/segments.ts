import type { Api, Entity } from "./api.ts";
import type { RouteName } from "./routes.ts";

/** Makes a segment of all who live in a city; gives its id. */
export function makeCitySegment(api: Api<RouteName>, city: string): number {
  const filter = { glue: "and", object: "lead", field: "city", type: "text", operator: "=", filter: city };
  const body = { name: city, isPublished: true, filters: [filter] };
  return api<{ list: Entity }>("POST /segments/new", { body, status: 201 }).list.id;
}
