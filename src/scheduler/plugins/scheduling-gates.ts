/** A pod waits while it has scheduling gates. Such pods are not tried at all: the queue holds them back. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Plugin } from '../plugin.ts'

export const schedulingGates: Plugin = {
  name: 'SchedulingGates',
  gate: hasSchedulingGates,
  queueingHints: { 'self gates': () => true },
}

function hasSchedulingGates({ spec }: Pod): boolean {
  return (spec.schedulingGates?.length ?? 0) > 0
}
