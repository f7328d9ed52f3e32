/** Lease is a lock with an expiry: leaders and nodes hold one to show that they are alive. */

import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { forbidden, invalid } from '../../schema/refs.ts'
import { int32, message, microTime, string } from '../../schema/types.ts'
import { validateStrategy } from './strategy.ts'

const LeaseSpec = message('LeaseSpec', {
  holderIdentity: [1, string.optional(), 'The identity of the holder.'],
  leaseDurationSeconds: [2, int32.optional(), 'Seconds after the last renewal at which others may take it.'],
  acquireTime: [3, microTime.optional(), 'When the holder got it.'],
  renewTime: [4, microTime.optional(), 'When the holder last renewed it.'],
  leaseTransitions: [5, int32.optional(), 'How often the holder has changed.'],
  strategy: [6, string.optional(), 'How a leader is chosen among candidates.'],
  preferredHolder: [7, string.optional(), 'The identity of the next holder; only with a strategy.'],
})

const COORDINATED = 'CoordinatedLeaderElection'

export const Lease = defineKind({
  group: 'coordination.{group_domain}',
  version: 'v1',
  kind: 'Lease',
  scope: 'Namespaced',
  names: { plural: 'leases' },
  doc: 'A lock with an end.',
  unqualifiedFinalizers: true,
  spec: LeaseSpec,
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,

  prepareForCreate({ spec }, ctx) {
    if (ctx.gate(COORDINATED)) return
    delete spec.strategy
    delete spec.preferredHolder
  },
  prepareForUpdate({ spec }, old, ctx) {
    if (ctx.gate(COORDINATED)) return
    if (old.spec.strategy === undefined) delete spec.strategy
    if (old.spec.preferredHolder === undefined) delete spec.preferredHolder
  },
  *validate({ spec: { leaseDurationSeconds, leaseTransitions, strategy, preferredHolder } }, { spec: at }) {
    if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0) yield invalid(at.leaseDurationSeconds, 'must be greater than 0')
    if (leaseTransitions !== undefined && leaseTransitions < 0) yield invalid(at.leaseTransitions, 'must be greater than or equal to 0')
    if (strategy !== undefined) yield* validateStrategy(strategy, at.strategy)
    if (preferredHolder && !strategy) yield forbidden(at.preferredHolder, 'may only be specified if `strategy` is defined')
  },

  columns: {
    Holder: [
      'string',
      o => o.spec.holderIdentity ?? '',
      'holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field.',
    ],
    Age: age,
  },
})

/** An object of the kind Lease. */
export type Lease = ObjectOf<typeof Lease>
