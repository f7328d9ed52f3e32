/** A pod waits while it has scheduling gates. Such pods are not tried at all: the queue holds them back. */
import type { PodObject } from '../../kinds/core/pod/preparation.ts'
import type { Plugin } from '../plugin.ts'

export const schedulingGates: Plugin = {
  name: 'SchedulingGates',
  queueingHints: { 'self gates': () => true },
}

export const hasSchedulingGates = ({ spec }: PodObject): boolean => (spec.schedulingGates?.length ?? 0) > 0
