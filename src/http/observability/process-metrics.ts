/** Resource usage of the process: the names that dashboards expect of every process, and a few of Node's own. */
import { readdirSync, readFileSync } from 'node:fs'
import { processBeganMs } from '../../lib/environment.ts'
import type { Family } from '../../lib/exposition.ts'

export function processMetrics(): Family[] {
  const limit = descriptorLimit()
  const { user, system } = process.cpuUsage()
  const memory = process.memoryUsage()
  const descriptors = openDescriptors()
  return [
    one('keelson_processes', 'gauge', 'Processes that serve (--processes).', 1),
    one('process_cpu_seconds_total', 'counter', 'Processor time used, in seconds.', (user + system) / 1e6),
    {
      ...one('process_start_time_seconds', 'gauge', 'When the process started, in seconds since the epoch.', processBeganMs() / 1000),
      across: 'min',
    },
    one('process_resident_memory_bytes', 'gauge', 'Resident memory.', memory.rss),
    ...(descriptors === undefined ? [] : [one('process_open_fds', 'gauge', 'Open file descriptors.', descriptors)]),
    ...(limit === undefined ? [] : [one('process_max_fds', 'gauge', 'The most file descriptors that can be open.', limit)]),
    one('nodejs_heap_size_total_bytes', 'gauge', 'Heap reserved.', memory.heapTotal),
    one('nodejs_heap_size_used_bytes', 'gauge', 'Heap used.', memory.heapUsed),
    one('nodejs_external_memory_bytes', 'gauge', 'Memory outside the heap.', memory.external),
    {
      ...one('nodejs_eventloop_utilization', 'gauge', 'Share of time since the start that the event loop was busy.', busyShare()),
      across: 'mean',
    },
  ]
}

const one = (name: string, type: 'counter' | 'gauge', help: string, value: number) =>
  ({ name, type, help, samples: [[{}, value]] }) satisfies Family

const busyShare = () => performance.eventLoopUtilization().utilization

function openDescriptors(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}

function descriptorLimit(): number | undefined {
  try {
    const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
}
