/** The frame: side bar with pages and kinds, top bar with the way here, the namespace, the theme and the user. */
import { computed, signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { may } from '../core/access.ts'
import { isOffline } from '../core/api.ts'
import { type Kind, kinds, listable } from '../core/discovery.ts'
import { namespace, namespaces } from '../core/namespace.ts'
import { href, navigate, path, query, toList } from '../core/router.ts'
import { logout, session } from '../core/session.ts'
import { isDark, nextTheme } from '../core/theme.ts'
import { PAGES, type Page } from '../pages/index.ts'
import { Menu } from './basics.tsx'
import { Crumbs } from './crumbs.tsx'
import { Icon, type IconName, Logo } from './icons.tsx'
import { isHelpOpen, openPalette } from './palette.tsx'

/** Well-known kinds by topic, in the order in which people look for them. All others follow by their group. */
const TOPICS: readonly { readonly title: string; readonly icon: IconName; readonly names: readonly string[] }[] = [
  {
    title: 'Workloads',
    icon: 'layers',
    names: [
      'pods',
      'deployments.apps',
      'statefulsets.apps',
      'daemonsets.apps',
      'replicasets.apps',
      'jobs.batch',
      'cronjobs.batch',
      'horizontalpodautoscalers.autoscaling',
      'poddisruptionbudgets.policy',
    ],
  },
  { title: 'Configuration', icon: 'file', names: ['configmaps', 'secrets', 'resourcequotas', 'limitranges'] },
  {
    title: 'Network',
    icon: 'globe',
    names: ['services', 'endpointslices.discovery.k8s.io', 'ingresses.networking.k8s.io', 'networkpolicies.networking.k8s.io'],
  },
  { title: 'Storage', icon: 'disk', names: ['persistentvolumeclaims', 'persistentvolumes', 'storageclasses.storage.k8s.io'] },
  {
    title: 'Cluster',
    icon: 'server',
    names: [
      'nodes',
      'namespaces',
      'events',
      'leases.coordination.k8s.io',
      'priorityclasses.scheduling.k8s.io',
      'certificatesigningrequests.certificates.k8s.io',
    ],
  },
  {
    title: 'Devices',
    icon: 'chip',
    names: [
      'resourceclaims.resource.k8s.io',
      'resourceclaimtemplates.resource.k8s.io',
      'resourceslices.resource.k8s.io',
      'deviceclasses.resource.k8s.io',
    ],
  },
  {
    title: 'Permissions',
    icon: 'shield',
    names: [
      'serviceaccounts',
      'roles.rbac.authorization.k8s.io',
      'rolebindings.rbac.authorization.k8s.io',
      'clusterroles.rbac.authorization.k8s.io',
      'clusterrolebindings.rbac.authorization.k8s.io',
    ],
  },
  {
    title: 'Admission',
    icon: 'filter',
    names: [
      'validatingadmissionpolicies',
      'validatingadmissionpolicybindings',
      'mutatingadmissionpolicies',
      'mutatingadmissionpolicybindings',
      'validatingwebhookconfigurations',
      'mutatingwebhookconfigurations',
    ].map(name => `${name}.admissionregistration.k8s.io`),
  },
]

const nameOf = ({ plural, group }: Kind) => (group === '' ? plural : `${plural}.${group}`)
const isBuiltIn = ({ group }: Kind) => !group.includes('.') || group.endsWith('.k8s.io')

type Topic = { readonly title: string; readonly icon: IconName; readonly kinds: readonly Kind[]; readonly isOpen: boolean }

const topics = computed<readonly Topic[]>(() => {
  const all = listable.value
  const byName = new Map(all.map(kind => [nameOf(kind), kind]))
  const used = new Set<Kind>()
  const known = TOPICS.map(({ title, icon, names }) => {
    const found = names.flatMap(name => byName.get(name) ?? [])
    for (const kind of found) used.add(kind)
    return { title, icon, kinds: found, isOpen: title === 'Workloads' }
  })
  const rest = all.filter(kind => !used.has(kind))
  return [
    ...known,
    { title: 'Custom', icon: 'puzzle' as const, kinds: rest.filter(kind => !isBuiltIn(kind)), isOpen: true },
    { title: 'More', icon: 'dots' as const, kinds: rest.filter(isBuiltIn), isOpen: false },
  ].filter(({ kinds }) => kinds.length > 0)
})

const isSideOpen = signal(false)
/** The icon of a kind: of its topic. */
export function iconOf(kind: Kind): IconName {
  return topics.value.find(({ kinds }) => kinds.includes(kind))?.icon ?? 'box'
}

export function Frame({ children }: { children: ComponentChildren }) {
  useEffect(() => {
    isSideOpen.value = false
  }, [path.value])
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to content
      </a>
      <Side />
      <button
        type="button"
        class="side-scrim"
        data-open={isSideOpen.value}
        aria-label="Close navigation"
        tabIndex={-1}
        onClick={() => {
          isSideOpen.value = false
        }}
      />
      <header class="top">
        <button
          type="button"
          class="button button-plain button-icon menu-button"
          aria-label="Navigation"
          aria-expanded={isSideOpen.value}
          onClick={() => {
            isSideOpen.value = !isSideOpen.value
          }}
        >
          <Icon name="menu" />
        </button>
        <Crumbs />
        <NamespacePicker />
        <div class="top-actions">
          <button
            type="button"
            class="button button-plain button-icon hide-small"
            aria-label="Keys"
            title="Keys (?)"
            onClick={() => {
              isHelpOpen.value = true
            }}
          >
            <Icon name="keyboard" />
          </button>
          <button
            type="button"
            class="button button-plain button-icon"
            aria-label={isDark.value ? 'Light theme' : 'Dark theme'}
            title={isDark.value ? 'Light theme' : 'Dark theme'}
            onClick={nextTheme}
          >
            <Icon name={isDark.value ? 'sun' : 'moon'} />
          </button>
          <Menu
            label="User"
            icon="user"
            isPlain
            items={[
              { label: 'What may I do?', icon: 'key', run: () => void navigate('/access') },
              'line',
              { label: `Log out ${session.value?.user ?? ''}`, icon: 'out', run: () => void logout() },
            ]}
          />
        </div>
      </header>
      <div class="main-column">
        {isOffline.value && (
          <div class="banner" role="status">
            <Icon name="alert" /> The server cannot be reached. Trying again…
          </div>
        )}
        <main class="content" id="content" tabIndex={-1}>
          {children}
        </main>
      </div>
    </div>
  )
}

function Side() {
  return (
    <aside class="side" data-open={isSideOpen.value}>
      <div class="side-head">
        <a class="brand" href={href('/')}>
          <Logo /> Keelson
        </a>
      </div>
      <div class="side-search">
        <button type="button" class="search-button" onClick={() => openPalette()}>
          <Icon name="search" size={14} />
          <span>Search or jump to…</span>
          <kbd class="kbd">/</kbd>
        </button>
      </div>
      <nav class="side-nav" aria-label="Main">
        <ul>
          {PAGES.filter(({ nav }) => nav).map(page => (
            <NavPage key={page.route} page={page} />
          ))}
        </ul>
        {topics.value.map(topic => (
          <NavTopic key={topic.title} topic={topic} />
        ))}
      </nav>
    </aside>
  )
}

function NavPage({ page }: { page: Page }) {
  if (page.needs && !may({ verb: 'get', path: page.needs }).value) return null
  return (
    <li>
      <a class="nav-link" href={href(page.route)} {...(path.value === page.route ? { 'aria-current': 'page' as const } : {})}>
        <Icon name={page.nav!.icon} />
        <span>{page.title}</span>
      </a>
    </li>
  )
}

function NavTopic({ topic }: { topic: Topic }) {
  const isHere = (kind: Kind) =>
    new RegExp(`^/(list|object|create)/${kind.group === '' ? 'core' : kind.group}/[^/]+/${kind.plural}(/|$)`).test(path.value)
  const holdsPage = topic.kinds.some(isHere)
  const [isOpen, setOpen] = useState(topic.isOpen || holdsPage)
  useEffect(() => {
    if (holdsPage) setOpen(true)
  }, [holdsPage])
  const names = new Map<string, number>()
  for (const { kind } of topic.kinds) names.set(kind, (names.get(kind) ?? 0) + 1)
  return (
    <div class="nav-group">
      <button type="button" class="nav-title" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="chevron" size={10} />
        {topic.title}
      </button>
      {isOpen && (
        <ul>
          {topic.kinds.map(kind => (
            <li key={nameOf(kind)}>
              <a
                class="nav-link"
                href={href(toList(kind))}
                title={nameOf(kind)}
                {...(isHere(kind) ? { 'aria-current': 'page' as const } : {})}
              >
                <Icon name={topic.icon} size={14} />
                <span>{pluralTitle(kind)}</span>
                {(names.get(kind.kind)! > 1 || topic.title === 'Custom') && <span class="nav-group-name">{kind.group}</span>}
              </a>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** `Config Maps` would be odd to those who know the kind: the name stays in one word, with the plural's ending. */
export function pluralTitle({ kind, plural }: Kind): string {
  if (plural.toLowerCase().startsWith(kind.toLowerCase())) return kind + plural.slice(kind.length)
  if (plural.endsWith('ies') && kind.endsWith('y')) return `${kind.slice(0, -1)}ies`
  return kind
}

function NamespacePicker() {
  const [text, setText] = useState<string | undefined>(undefined)
  const isUsed = kinds.value !== undefined
  const choose = (name: string) => {
    setText(undefined)
    namespace.value = name
    // A list in the address has its own namespace: the new one replaces it.
    if (path.value.startsWith('/list/') && query.value.has('ns')) {
      const next = new URLSearchParams(query.value)
      next.delete('ns')
      void navigate(`${path.value}?${next}`, { replace: true })
    }
  }
  if (!isUsed) return null
  const names = namespaces.value
  if (names.length === 0 || text !== undefined)
    return (
      <input
        class="input"
        aria-label="Namespace"
        placeholder="namespace"
        size={12}
        value={text ?? namespace.value}
        onInput={event => setText(event.currentTarget.value)}
        onChange={event => choose(event.currentTarget.value.trim())}
      />
    )
  const isKnown = namespace.value === '' || names.includes(namespace.value)
  return (
    <select
      class="input namespace-picker"
      aria-label="Namespace"
      value={namespace.value}
      onChange={event => choose(event.currentTarget.value)}
    >
      <option value="">All namespaces</option>
      {!isKnown && <option value={namespace.value}>{namespace.value}</option>}
      {names.map(name => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  )
}
