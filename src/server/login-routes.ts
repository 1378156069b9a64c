// /berth/v1/ui/login: lets those who may open the local API in to the page.
import type { UiDoor } from "../ports/ui-door.ts";
import { type Exchange, sendJson } from "./exchange.ts";
import { HttpError } from "./http-error.ts";
import { type Route, route } from "./router.ts";

/** `door`: undefined = the agent serves no page. */
export function loginRoutes(door: UiDoor | undefined): readonly Route<Exchange>[] {
  return [
    route(["POST"], "/berth/v1/ui/login", (_, { response }: Exchange) => {
      const login = door?.newLogin();
      if (login === undefined) {
        throw new HttpError(
          "NotFound",
          "the agent serves no page: start it with --ui (`berth kubelet`: BERTH_UI=on in its environment)",
        );
      }
      if (login.kind === "not-served") {
        throw new HttpError("ServiceUnavailable", `the page is not served: ${login.problem}`);
      }
      const { address, code, lifetimeMs } = login;
      sendJson(response, { address, code, lifetimeMs });
    }),
  ];
}
