/** Events about an object, newest first, as they happen. */
import { useEffect, useState } from 'preact/hooks'
import { type LiveList, liveList } from '../../core/live.ts'
import type { KubeObject } from '../../core/object.ts'
import { Age, Badge, Card, Table } from '../../parts/basics.tsx'

export function Events({ object }: { object: KubeObject }) {
  const { uid, namespace, name } = object.metadata
  const [live, setLive] = useState<LiveList | undefined>(undefined)
  useEffect(() => {
    // Events about an object of the cluster are in the default namespace.
    const opened = liveList({
      path: `/api/v1/namespaces/${namespace ?? 'default'}/events`,
      fields: `involvedObject.name=${name}${uid ? `,involvedObject.uid=${uid}` : ''}`,
    })
    setLive(opened)
    return () => opened.close()
  }, [uid, namespace, name])
  const rows = (live?.rows.value ?? []).flatMap(({ object }) => object ?? [])
  const sorted = [...rows].sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1))
  const failed = live?.state.value.phase === 'failed'
  return (
    <Card title="Events" isFlush>
      {sorted.length === 0 ? (
        <p class="card-body muted">{failed ? 'You may not list events here.' : 'No events about this object.'}</p>
      ) : (
        <Table columns={['Reason', 'Message', 'From', 'Seen']}>
          {sorted.slice(0, 50).map(event => (
            <tr key={event.metadata.uid}>
              <td class="nowrap">
                <Badge tone={event['type'] === 'Warning' ? 'warn' : 'plain'}>{event['reason'] ?? ''}</Badge>
              </td>
              <td>{event['message'] ?? event['note']}</td>
              <td class="muted nowrap">{event['source']?.component || event['reportingComponent'] || event['reportingController']}</td>
              <td class="muted nowrap">
                <Age time={timeOf(event)} />
                {(event['count'] ?? event['series']?.count ?? 1) > 1 ? ` ×${event['count'] ?? event['series']?.count}` : ''}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  )
}

export const timeOf = (event: KubeObject): string =>
  event['lastTimestamp'] ??
  event['series']?.lastObservedTime ??
  event['eventTime'] ??
  event['firstTimestamp'] ??
  event.metadata.creationTimestamp ??
  ''
