import { expect, test } from "vitest";
import { OomReport, systemOomMessage } from "./oom-kill.ts";

function killOf(...lines: readonly string[]) {
  const report = new OomReport();
  return lines.map((line) => report.take(line)).filter((kill) => kill !== undefined);
}

test("a limit that is reached names its cgroup", () => {
  const [kill] = killOf(
    "tail invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=985",
    "memory: usage 32768kB, limit 32768kB, failcnt 58",
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=abc,mems_allowed=0,oom_memcg=/kubepods/burstable/pod1/c1,task_memcg=/kubepods/burstable/pod1/c1,task=tail,pid=4242,uid=0",
    "Memory cgroup out of memory: Killed process 4242 (tail) total-vm:34000kB",
  );
  expect(kill).toEqual({ cgroup: "/kubepods/burstable/pod1/c1", processName: "tail", pid: 4242 });
  expect(kill === undefined ? "" : systemOomMessage(kill)).toBeUndefined();
});

test("a machine that runs out of memory is the node's own event", () => {
  const [kill] = killOf(
    "java invoked oom-killer: gfp_mask=0x0",
    "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/system.slice/x,task=java,pid=77,uid=1000",
  );
  expect(kill).toEqual({ cgroup: "/", processName: "java", pid: 77 });
  expect(kill === undefined ? "" : systemOomMessage(kill)).toBe(
    "System OOM encountered, victim process: java, pid: 77",
  );
});

test("older kernels name the limit and the process in lines of their own", () => {
  expect(
    killOf(
      "mysqld invoked oom-killer: gfp_mask=0x201da",
      "Task in /mem2 killed as a result of limit of /mem3",
      "Killed process 1532 (badsysprogram) total-vm:216kB",
    ),
  ).toEqual([{ cgroup: "/mem3", processName: "badsysprogram", pid: 1532 }]);
});

test("lines of other reports are nothing", () => {
  expect(killOf("veth0: link up", "Killed process 1 (init)")).toEqual([]);
});
