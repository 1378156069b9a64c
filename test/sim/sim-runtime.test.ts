import { SimRuntime } from "../../src/drivers/sim/sim-runtime.ts";
import { runtimeContract } from "../contract/runtime-contract.ts";
import { VirtualClock } from "./virtual-clock.ts";

runtimeContract(async () => {
  const clock = new VirtualClock();
  const runtime = new SimRuntime({ clock });
  runtime.addImage("busybox");
  const closed = new AbortController();
  const time = clock.runFreely(closed.signal);
  return {
    runtime,
    image: "busybox",
    programs: {
      forever: ["serve"],
      stubborn: ["stubborn"],
      exit: (code) => ["exit", String(code)],
      print: (stdout, stderr, code) => ["print", stdout, stderr, String(code)],
    },
    cgroupParent: "/sim",
    logDirectory: "/var/log/pods",
    close: async () => {
      closed.abort();
      await time;
    },
  };
});
