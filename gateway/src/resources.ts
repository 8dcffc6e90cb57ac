import type { DescService } from "@bufbuild/protobuf";
import { CompanyService } from "@tidings/proto/tidings/contact/v1/company";
import { ContactService } from "@tidings/proto/tidings/contact/v1/contact";
import { DeviceService } from "@tidings/proto/tidings/contact/v1/device";
import { CompanyFieldService, ContactFieldService } from "@tidings/proto/tidings/contact/v1/field";
import { NoteService } from "@tidings/proto/tidings/contact/v1/note";
import { SegmentService } from "@tidings/proto/tidings/contact/v1/segment";
import { TagService } from "@tidings/proto/tidings/contact/v1/tag";
import { RoleService } from "@tidings/proto/tidings/identity/v1/role";
import { UserService } from "@tidings/proto/tidings/identity/v1/user";
import { WebhookService } from "@tidings/proto/tidings/webhook/v1/webhook";

/** What the standard operations of a resource look like from outside. */
export interface Resource {
  /** Below /api. */
  path: string;
  /** Key of a single entity and of a list. */
  one: string;
  many: string;
  /** A list is an array, or an object keyed by id. */
  shape: "array" | "byId";
  /** How the total of a list is written. */
  total: "int" | "string";
  service: DescService;
  /** Members of a `minimal` list; all when absent. */
  minimal?: string[];
}

/** THE table of the REST surface: a row gives a resource its eight standard operations. */
export const resources: Resource[] = [
  {
    path: "contacts",
    one: "contact",
    many: "contacts",
    shape: "byId",
    total: "string",
    service: ContactService,
    minimal: [
      "id",
      "isPublished",
      "dateAdded",
      "points",
      "color",
      "lastActive",
      "dateIdentified",
      "owner",
      "fields",
    ],
  },
  {
    path: "companies",
    one: "company",
    many: "companies",
    shape: "byId",
    total: "int",
    service: CompanyService,
  },
  {
    path: "fields/contact",
    one: "field",
    many: "fields",
    shape: "array",
    total: "int",
    service: ContactFieldService,
  },
  {
    path: "fields/company",
    one: "field",
    many: "fields",
    shape: "array",
    total: "int",
    service: CompanyFieldService,
  },
  { path: "devices", one: "device", many: "devices", shape: "array", total: "int", service: DeviceService },
  { path: "notes", one: "note", many: "notes", shape: "array", total: "int", service: NoteService },
  { path: "hooks", one: "hook", many: "hooks", shape: "byId", total: "int", service: WebhookService },
  {
    path: "segments",
    one: "list",
    many: "lists",
    shape: "array",
    total: "int",
    service: SegmentService,
  },
  { path: "roles", one: "role", many: "roles", shape: "array", total: "int", service: RoleService },
  { path: "tags", one: "tag", many: "tags", shape: "byId", total: "int", service: TagService },
  { path: "users", one: "user", many: "users", shape: "array", total: "int", service: UserService },
];
