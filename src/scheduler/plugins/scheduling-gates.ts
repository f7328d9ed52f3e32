/** A pod waits while it has scheduling gates. Such pods are not tried at all: the queue holds them back. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Plugin } from '../plugin.ts'

export const schedulingGates: Plugin = {
  name: 'SchedulingGates',
  queueingHints: { 'self gates': () => true },
}

export const hasSchedulingGates = ({ spec }: Pod): boolean => (spec.schedulingGates?.length ?? 0) > 0
