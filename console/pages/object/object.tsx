/** One object: its summary, YAML, writers of fields, history, relations and logs, and the actions that its kind has. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { findKind, type Kind, listPath, objectPath } from '../../core/discovery.ts'
import { healthOf } from '../../core/health.ts'
import { useShortcuts } from '../../core/keys.ts'
import { type LiveObject, liveObject } from '../../core/live.ts'
import type { KubeObject } from '../../core/object.ts'
import { groupFromPath, query, setQuery, toList } from '../../core/router.ts'
import { Age, Badge, Menu, Problem, Spinner } from '../../parts/basics.tsx'
import { useCrumbs } from '../../parts/crumbs.tsx'
import { pluralTitle } from '../../parts/frame.tsx'
import { Icon, type IconName } from '../../parts/icons.tsx'
import { LiveMark } from '../../parts/live-state.tsx'
import { useActions } from '../../parts/palette.tsx'
import type { PageProps } from '../index.ts'
import { UnknownKind } from '../list/list.tsx'
import { useObjectActions } from './actions.tsx'
import { Logs } from './logs.tsx'
import { Summary } from './summary.tsx'
import { YamlTab } from './yaml-tab.tsx'

export type TabProps = { readonly kind: Kind; readonly object: KubeObject; readonly draftOf?: KubeObject | undefined }

type Tab = {
  readonly id: string
  readonly title: string
  readonly icon: IconName
  readonly load?: () => Promise<ComponentType<TabProps>>
  readonly view?: ComponentType<TabProps>
  isFor?(kind: Kind): boolean
}

const TABS: readonly Tab[] = [
  { id: 'summary', title: 'Summary', icon: 'info', view: Summary },
  { id: 'yaml', title: 'YAML', icon: 'edit', view: YamlTab },
  { id: 'blame', title: 'Who set this', icon: 'user', load: () => import('./blame-tab.tsx').then(({ default: view }) => view) },
  {
    id: 'history',
    title: 'History',
    icon: 'history',
    load: () => import('./history-tab.tsx').then(({ default: view }) => view as ComponentType<TabProps>),
  },
  { id: 'relations', title: 'Relations', icon: 'graph', load: () => import('./relations-tab.tsx').then(({ default: view }) => view) },
  { id: 'logs', title: 'Logs', icon: 'terminal', view: Logs, isFor: ({ subresources }) => subresources.has('log') },
]

export default function ObjectPage({ params }: PageProps) {
  const group = groupFromPath(params['group']!)
  const kind = findKind(group, params['plural']!, params['version'])
  if (!kind) return <UnknownKind name={group === '' ? params['plural']! : `${params['plural']}.${group}`} version={params['version']!} />
  const namespace = params['namespace'] === '-' ? undefined : params['namespace']
  return <ObjectView kind={kind} namespace={namespace} name={params['name']!} />
}

function ObjectView({ kind, namespace, name }: { kind: Kind; namespace: string | undefined; name: string }) {
  const [live, setLive] = useState<LiveObject | undefined>(undefined)
  const [turn, setTurn] = useState(0)
  /** An earlier revision that is to be restored: a draft for the editor. */
  const [draftOf, setDraftOf] = useState<KubeObject | undefined>(undefined)
  useEffect(() => {
    const opened = liveObject(objectPath(kind, namespace, name), listPath(kind, namespace), name)
    setLive(opened)
    return () => opened.close()
  }, [kind.group, kind.version, kind.plural, namespace, name, turn])
  useCrumbs([{ text: pluralTitle(kind), to: toList(kind) }, { text: name }])
  const object = live?.object.value
  const state = live?.state.value ?? { phase: 'loading' as const }
  const { actions, dialog } = useObjectActions(kind, state.phase === 'deleted' ? undefined : object)
  const tabs = TABS.filter(({ isFor }) => isFor?.(kind) ?? true)
  const tab = tabs.find(({ id }) => id === query.value.get('tab')) ?? tabs[0]!
  const open = (id: string) => setQuery({ tab: id === 'summary' ? undefined : id })
  useShortcuts(
    [
      ...tabs.map(({ id, title }, i) => ({ keys: String(i + 1), title, run: () => open(id) })),
      { keys: 'e', title: 'Edit YAML', run: () => open('yaml') },
    ],
    [tabs.length],
  )
  useActions(
    [
      ...actions.map(({ title, icon, run }) => ({ title: `${title} ${name}`, hint: kind.kind, icon, run })),
      ...tabs.map(({ id, title, icon }) => ({ title: `${title} of ${name}`, hint: 'tab', icon, run: () => open(id) })),
    ],
    [actions.map(({ title }) => title).join(), name],
  )
  if (state.phase === 'failed') return <Problem error={state.error} subject={`${kind.kind} ${name}`} onRetry={() => setTurn(turn + 1)} />
  if (!object)
    return (
      <div class="page">
        <Spinner />
      </div>
    )
  const health = healthOf(object)
  const [main, more] = [actions.filter(({ isMain }) => isMain), actions.filter(({ isMain }) => !isMain)]
  return (
    <div class="page">
      <div class="page-head">
        <div class="stack stack-tight">
          <div class="muted small">
            {kind.kind}
            {namespace ? ` in ${namespace}` : ''}
          </div>
          <div class="row row-wrap">
            <h1>{name}</h1>
            {health.text !== '' && <Badge tone={health.tone}>{health.text}</Badge>}
            <LiveMark state={state} />
            <span class="muted small">
              <Age time={object.metadata.creationTimestamp} />
            </span>
          </div>
        </div>
        <div class="page-actions">
          {main.map(({ title, icon, run }) => (
            <button type="button" class="button" key={title} onClick={run}>
              <Icon name={icon} /> {title}
            </button>
          ))}
          {more.length > 0 && (
            <Menu
              label="More actions"
              icon="dots"
              items={more.map(({ title, icon, isDangerous = false, run }) => ({ label: title, icon, isDangerous, run }))}
            />
          )}
        </div>
      </div>
      <div
        class="tabs"
        role="tablist"
        aria-label="Views of the object"
        onKeyDown={event => {
          const at = tabs.indexOf(tab)
          const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
          if (step === 0) return
          const next = tabs[(at + step + tabs.length) % tabs.length]!
          open(next.id)
          document.getElementById(`tab-${next.id}`)?.focus()
        }}
      >
        {tabs.map(({ id, title }) => (
          <button
            type="button"
            key={id}
            id={`tab-${id}`}
            class="tab"
            role="tab"
            aria-selected={id === tab.id}
            aria-controls="tab-panel"
            tabIndex={id === tab.id ? 0 : -1}
            onClick={() => open(id)}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab.id}`}>
        <TabView
          key={tab.id}
          tab={tab}
          kind={kind}
          object={object}
          draftOf={draftOf}
          onRestore={past => {
            setDraftOf(past)
            open('yaml')
          }}
        />
      </div>
      {dialog}
    </div>
  )
}

type TabViewProps = TabProps & { readonly tab: Tab; onRestore(object: KubeObject): void }

function TabView({ tab, ...props }: TabViewProps) {
  const [view, setView] = useState<{ View: ComponentType<TabViewProps> } | undefined>(undefined)
  useEffect(() => {
    void tab.load?.().then(View => setView({ View: View as ComponentType<TabViewProps> }))
  }, [tab.id])
  const View = (tab.view as ComponentType<TabViewProps> | undefined) ?? view?.View
  return View ? <View tab={tab} {...props} /> : <Spinner />
}
