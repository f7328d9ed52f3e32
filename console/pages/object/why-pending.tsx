/** Why a pod is not scheduled: the scheduler's reasons, with the number of nodes that each rules out. */

import type { Condition } from '../../core/health.ts'
import type { KubeObject } from '../../core/object.ts'
import { href } from '../../core/router.ts'
import { readMessage } from '../../core/scheduling.ts'
import { Notice } from '../../parts/basics.tsx'

export function WhyPending({ pod }: { pod: KubeObject }) {
  const scheduled: Condition | undefined = (pod['status']?.conditions ?? []).find(({ type }: Condition) => type === 'PodScheduled')
  if (scheduled?.status !== 'False' || pod['spec']?.nodeName) return null
  const message = scheduled.message ?? ''
  const found = readMessage(message)
  return (
    <Notice
      tone="bad"
      title={scheduled.reason === 'SchedulingGated' ? 'This pod waits for its scheduling gates' : 'No node can take this pod'}
    >
      {found ? (
        <div class="stack stack-tight">
          <ul class="reasons">
            {found.reasons.map(({ nodes, text, plugin }) => (
              <li key={text} class="reason">
                <span class="reason-bar" aria-hidden="true">
                  <span style={{ width: `${found.total > 0 ? (100 * nodes) / found.total : 0}%` }} />
                </span>
                <b>
                  {nodes} of {found.total} nodes
                </b>{' '}
                {text} {plugin && <span class="small">({plugin})</span>}
              </li>
            ))}
          </ul>
          {found.preemption && <p class="small">Preemption: {found.preemption}</p>}
        </div>
      ) : (
        <p>{message || 'The scheduler has not said why yet.'}</p>
      )}
      <p class="small">
        <a href={href(`/nodes?pod=${encodeURIComponent(`${pod.metadata.namespace}/${pod.metadata.name}`)}`)}>Compare with each node</a>
      </p>
    </Notice>
  )
}
