/** Actions on an object: each is offered if its kind has it and the user may. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { may } from '../../core/access.ts'
import { ApiError, get, messageOf, send } from '../../core/api.ts'
import { findKind, type Kind, listPath, objectPath } from '../../core/discovery.ts'
import type { KubeObject } from '../../core/object.ts'
import { navigate, toList } from '../../core/router.ts'
import { clock } from '../../core/time.ts'
import { toast, toastError } from '../../core/toasts.ts'
import { forPeople } from '../../core/yaml-lines.ts'
import { Notice, Spinner, useAsync } from '../../parts/basics.tsx'
import { confirm, Dialog } from '../../parts/dialog.tsx'
import { Diff } from '../../parts/diff.tsx'
import type { IconName } from '../../parts/icons.tsx'
import { FIELD_MANAGER } from './review.tsx'

export type ObjectAction = {
  readonly title: string
  readonly icon: IconName
  readonly isDangerous?: boolean
  readonly isMain?: boolean
  run(): void
}

const MERGE = 'application/merge-patch+json'
const manager = `fieldManager=${FIELD_MANAGER}`

type Opened = 'scale' | 'rollback' | 'drain' | undefined

/** The actions of an object, and the dialog of the one that was chosen. */
export function useObjectActions(kind: Kind, object: KubeObject | undefined): { actions: ObjectAction[]; dialog: ComponentChildren } {
  const [opened, setOpened] = useState<Opened>(undefined)
  const { namespace, name = '', uid } = object?.metadata ?? { name: '' }
  const path = objectPath(kind, namespace, name)
  const allowed = (verb: string, subresource?: string) =>
    may({ verb, kind, namespace, name, ...(subresource ? { subresource } : {}) }).value
  const mayPatch = kind.verbs.includes('patch') && allowed('patch')
  const isWorkload = kind.group === 'apps' && object?.['spec']?.template !== undefined && object?.['spec']?.selector !== undefined
  const isNode = kind.group === '' && kind.plural === 'nodes'
  const actions: ObjectAction[] = []
  const add = (isOffered: boolean, action: ObjectAction) => isOffered && actions.push(action)

  const act = async (what: string, work: () => Promise<unknown>) => {
    try {
      await work()
      toast(what)
    } catch (error) {
      toastError(`${name} is unchanged`, error)
    }
  }
  if (!object) return { actions, dialog: null }
  add(kind.subresources.has('scale') && allowed('update', 'scale'), {
    title: 'Scale',
    icon: 'scale',
    isMain: true,
    run: () => setOpened('scale'),
  })
  add(isWorkload && kind.plural !== 'replicasets' && mayPatch, {
    title: 'Restart',
    icon: 'refresh',
    isMain: true,
    run: () =>
      void confirm({
        title: `Restart ${name}?`,
        body: <p>Its pods are replaced one after another, as its strategy says.</p>,
        action: 'Restart',
      }).then(async isSure => {
        if (isSure)
          await act(`Restarting ${name}`, () =>
            send(`${path}?${manager}`, {
              method: 'PATCH',
              type: MERGE,
              body: {
                spec: { template: { metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': new Date().toISOString() } } } },
              },
            }),
          )
      }),
  })
  add(isWorkload && kind.plural !== 'replicasets' && mayPatch, { title: 'Roll back', icon: 'undo', run: () => setOpened('rollback') })
  if (isNode) {
    const isCordoned = object['spec']?.unschedulable === true
    add(mayPatch, {
      title: isCordoned ? 'Uncordon' : 'Cordon',
      icon: isCordoned ? 'play' : 'pause',
      isMain: true,
      run: () =>
        void act(isCordoned ? `${name} takes new pods` : `${name} takes no new pods`, () =>
          send(`${path}?${manager}`, { method: 'PATCH', type: MERGE, body: { spec: { unschedulable: isCordoned ? null : true } } }),
        ),
    })
    const pods = findKind('', 'pods')
    const mayEvict = pods !== undefined && may({ verb: 'create', kind: pods, subresource: 'eviction' }).value
    add(mayPatch && mayEvict, { title: 'Drain', icon: 'out', isMain: true, run: () => setOpened('drain') })
  }
  if (kind.subresources.has('approval') && allowed('update', 'approval')) {
    const isDecided = (object['status']?.conditions ?? []).some(({ type }: { type: string }) => ['Approved', 'Denied'].includes(type))
    const decide = (type: string) =>
      act(`${type} ${name}`, () =>
        send(`${objectPath(kind, namespace, name, 'approval')}?${manager}`, {
          method: 'PUT',
          body: {
            ...object,
            status: {
              ...object['status'],
              conditions: [
                ...(object['status']?.conditions ?? []),
                {
                  type,
                  status: 'True',
                  reason: `Console${type}`,
                  message: `${type} in the console`,
                  lastUpdateTime: new Date().toISOString().replace(/\.\d+/, ''),
                },
              ],
            },
          },
        }),
      )
    add(!isDecided, { title: 'Approve', icon: 'check', isMain: true, run: () => void decide('Approved') })
    add(!isDecided, { title: 'Deny', icon: 'close', isDangerous: true, run: () => void decide('Denied') })
  }
  add(kind.subresources.has('eviction') && allowed('create', 'eviction'), {
    title: 'Evict',
    icon: 'out',
    run: () =>
      void confirm({
        title: `Evict ${name}?`,
        body: <p>The pod is deleted if its disruption budgets allow it.</p>,
        action: 'Evict',
        isDangerous: true,
        run: async () => {
          await evict(path, object)
          toast(`Evicted ${name}`)
        },
      }),
  })
  add(kind.verbs.includes('delete') && allowed('delete'), {
    title: 'Delete',
    icon: 'trash',
    isDangerous: true,
    run: () =>
      void confirm({
        title: `Delete ${kind.kind} ${name}?`,
        body: (
          <p>
            {object.metadata.finalizers?.length
              ? `It is gone when its finalizers are: ${object.metadata.finalizers.join(', ')}.`
              : 'Objects that it owns are deleted, too.'}
          </p>
        ),
        action: 'Delete',
        isDangerous: true,
        ...(['namespaces', 'customresourcedefinitions', 'nodes', 'persistentvolumes'].includes(kind.plural) ? { typed: name } : {}),
        run: async () => {
          await send(path, {
            method: 'DELETE',
            body: { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background', ...(uid ? { preconditions: { uid } } : {}) },
          })
          toast(`Deleted ${name}`)
        },
      }).then(isDone => isDone && void navigate(toList(kind))),
  })
  const close = () => setOpened(undefined)
  const dialog =
    opened === 'scale' ? (
      <Scale kind={kind} object={object} onClose={close} />
    ) : opened === 'rollback' ? (
      <RollBack kind={kind} object={object} onClose={close} />
    ) : opened === 'drain' ? (
      <Drain node={object} path={path} onClose={close} />
    ) : null
  return { actions, dialog }
}

const evict = (podPath: string, { metadata }: KubeObject) =>
  send(`${podPath}/eviction`, {
    method: 'POST',
    body: {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: metadata.name, namespace: metadata.namespace },
      deleteOptions: { preconditions: { uid: metadata.uid } },
    },
  })

function Scale({ kind, object, onClose }: { kind: Kind; object: KubeObject; onClose(): void }) {
  const { namespace, name } = object.metadata
  const path = objectPath(kind, namespace, name, 'scale')
  const [text, setText] = useState(String(object['spec']?.replicas ?? ''))
  const [error, setError] = useState('')
  const wanted = /^\d{1,6}$/.test(text) ? Number(text) : undefined
  const go = async () => {
    if (wanted === undefined) return
    try {
      const scale = await get(path)
      await send(`${path}?${manager}`, { method: 'PUT', body: { ...scale, spec: { ...scale['spec'], replicas: wanted } } })
      toast(`Scaled ${name} to ${wanted}`)
      onClose()
    } catch (failure) {
      setError(messageOf(failure))
    }
  }
  return (
    <Dialog
      title={`Scale ${name}`}
      onClose={onClose}
      foot={
        <>
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="button" class="button button-primary" disabled={wanted === undefined} onClick={() => void go()}>
            Scale
          </button>
        </>
      }
    >
      <div class="stack">
        <label class="field">
          <span>Replicas (now {String(object['spec']?.replicas ?? 'not set')})</span>
          <input
            class="input"
            type="number"
            min={0}
            value={text}
            onInput={event => setText(event.currentTarget.value)}
            onKeyDown={event => event.key === 'Enter' && void go()}
          />
        </label>
        {error !== '' && <Notice tone="bad" title={error} />}
      </div>
    </Dialog>
  )
}

type Earlier = { readonly number: number; readonly template: any; readonly time: string; readonly cause: string }

/** Earlier templates: of the replica sets of a deployment, of the controller revisions of others. */
async function earlierTemplates(kind: Kind, object: KubeObject): Promise<Earlier[]> {
  const { namespace, uid } = object.metadata
  const source = findKind('apps', kind.plural === 'deployments' ? 'replicasets' : 'controllerrevisions')
  if (!source) return []
  const { items } = await get<{ items: KubeObject[] }>(listPath(source, namespace))
  return items
    .filter(({ metadata }) => metadata.ownerReferences?.some(owner => owner.uid === uid))
    .map(item => {
      const template = item['spec']?.template ?? item['data']?.spec?.template
      const { 'pod-template-hash': _, ...labels } = template?.metadata?.labels ?? {}
      return {
        number: Number(item['revision'] ?? item.metadata.annotations?.['deployment.kubernetes.io/revision'] ?? 0),
        template: template && { ...template, metadata: { ...template.metadata, labels } },
        time: item.metadata.creationTimestamp ?? '',
        cause: item.metadata.annotations?.['kubernetes.io/change-cause'] ?? '',
      }
    })
    .filter(({ template }) => template !== undefined)
    .sort((a, b) => b.number - a.number)
}

function RollBack({ kind, object, onClose }: { kind: Kind; object: KubeObject; onClose(): void }) {
  const { namespace, name } = object.metadata
  const { value: list, error: failure } = useAsync(() => earlierTemplates(kind, object), [object.metadata.uid])
  const [number, setNumber] = useState<number | undefined>(undefined)
  const [error, setError] = useState('')
  const now = object['spec'].template
  const older = (list ?? []).slice(1)
  const chosen = older.find(one => one.number === number) ?? older[0]
  const go = async () => {
    if (!chosen) return
    try {
      // The template as a whole: fields that it has now and had not then go away.
      await send(`${objectPath(kind, namespace, name)}?${manager}`, {
        method: 'PATCH',
        type: 'application/json-patch+json',
        body: [
          { op: 'test', path: '/metadata/uid', value: object.metadata.uid },
          { op: 'replace', path: '/spec/template', value: chosen.template },
        ],
      })
      toast(`Rolled ${name} back to revision ${chosen.number}`)
      onClose()
    } catch (failure) {
      setError(messageOf(failure))
    }
  }
  return (
    <Dialog
      title={`Roll back ${name}`}
      className="dialog-wide"
      onClose={onClose}
      foot={
        <>
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="button" class="button button-primary" disabled={!chosen} onClick={() => void go()}>
            Roll back{chosen ? ` to revision ${chosen.number}` : ''}
          </button>
        </>
      }
    >
      <div class="stack">
        {failure ? <Notice tone="bad" title={messageOf(failure)} /> : null}
        {list === undefined && !failure && <Spinner />}
        {list !== undefined && older.length === 0 && <p class="muted">There is no earlier revision.</p>}
        {older.length > 0 && (
          <label class="field">
            <span>Revision</span>
            <select class="input" value={chosen?.number} onChange={event => setNumber(Number(event.currentTarget.value))}>
              {older.map(({ number, time, cause }) => (
                <option key={number} value={number}>
                  {number}, made {clock(time)} {cause}
                </option>
              ))}
            </select>
          </label>
        )}
        {chosen && (
          <Diff
            label="Changes of the template"
            before={forPeople({ metadata: {}, template: now })}
            after={forPeople({ metadata: {}, template: chosen.template })}
          />
        )}
        {error !== '' && <Notice tone="bad" title={error} />}
      </div>
    </Dialog>
  )
}

type Drained = { readonly pod: KubeObject; readonly state: 'waiting' | 'evicted' | 'refused'; readonly message: string }

function Drain({ node, path, onClose }: { node: KubeObject; path: string; onClose(): void }) {
  const pods = findKind('', 'pods')!
  const [list, setList] = useState<readonly Drained[] | undefined>(undefined)
  const [error, setError] = useState('')
  const [isBusy, setBusy] = useState(false)
  const { value: found } = useAsync(
    () => get<{ items: KubeObject[] }>(`${listPath(pods)}?fieldSelector=spec.nodeName=${encodeURIComponent(node.metadata.name)}`),
    [node.metadata.name],
  )
  // Pods of daemon sets would come back at once, mirror pods cannot be evicted, finished ones need not be.
  const isLeft = ({ metadata, status }: KubeObject) =>
    metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet') ||
    metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined ||
    ['Succeeded', 'Failed'].includes(status?.phase)
  const moving = (found?.items ?? []).filter(pod => !isLeft(pod))
  const go = async () => {
    setBusy(true)
    try {
      await send(`${path}?${manager}`, { method: 'PATCH', type: MERGE, body: { spec: { unschedulable: true } } })
      let done: Drained[] = moving.map(pod => ({ pod, state: 'waiting', message: '' }))
      setList(done)
      for (const { pod } of done) {
        const outcome = await evict(objectPath(pods, pod.metadata.namespace, pod.metadata.name), pod).then(
          (): Omit<Drained, 'pod'> => ({ state: 'evicted', message: '' }),
          (failure): Omit<Drained, 'pod'> =>
            failure instanceof ApiError && failure.code === 404
              ? { state: 'evicted', message: '' }
              : { state: 'refused', message: messageOf(failure) },
        )
        done = done.map(one => (one.pod === pod ? { pod, ...outcome } : one))
        setList(done)
      }
      const refused = done.filter(({ state }) => state === 'refused').length
      toast(
        refused === 0 ? `Drained ${node.metadata.name}` : `${refused} pods stay on ${node.metadata.name}`,
        refused === 0 ? 'good' : 'bad',
      )
    } catch (failure) {
      setError(messageOf(failure))
    }
    setBusy(false)
  }
  return (
    <Dialog
      title={`Drain ${node.metadata.name}`}
      onClose={onClose}
      foot={
        <>
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
          <button
            type="button"
            class="button button-primary button-danger"
            disabled={isBusy || found === undefined}
            onClick={() => void go()}
          >
            {list ? 'Try again' : `Cordon and evict ${moving.length} pods`}
          </button>
        </>
      }
    >
      <div class="stack">
        <p>The node takes no new pods, and its pods are evicted as their disruption budgets allow. Pods of daemon sets stay.</p>
        {error !== '' && <Notice tone="bad" title={error} />}
        <ul class="name-list">
          {(list ?? moving.map((pod): Drained => ({ pod, state: 'waiting', message: '' }))).map(({ pod, state, message }) => (
            <li key={pod.metadata.uid} class="row">
              <span class={`dot ${state === 'evicted' ? 'dot-good' : state === 'refused' ? 'dot-bad' : ''}`} />
              <span class="mono">
                {pod.metadata.namespace}/{pod.metadata.name}
              </span>
              {message !== '' && <span class="bad small">{message}</span>}
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  )
}
