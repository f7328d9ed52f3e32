/** Request contexts for tests of this group, with the default feature gates. */
import type { RequestContext } from '../../../src/schema/request-context.ts'
import { contextWith } from './kinds.ts'

const GATES = [
  'DRAConsumableCapacity',
  'DRADeviceBindingConditions',
  'DRADeviceTaints',
  'DRAFractionalCapacityRange',
  'DRAPartitionableDevices',
]

/** A request with further gates on. */
export const withGates = (...gates: readonly string[]): RequestContext => contextWith({ gates: [...GATES, ...gates] })

/** A request with every gate off. */
export const withoutGates: RequestContext = contextWith()

/** A request to a server on which the namespace `default` has labels. */
export const withLabels = (labels: Record<string, string>): RequestContext => ({
  ...withGates(),
  namespace: name => (name === 'default' ? { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } } : undefined),
})
