/** The command palette: jumps to any page, kind, object or action. And the list of keys. */
import { signal } from '@preact/signals'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { get } from '../core/api.ts'
import { type Kind, listable, listPath, qualifiedName } from '../core/discovery.ts'
import { shortcuts } from '../core/keys.ts'
import { namespace, namespaces } from '../core/namespace.ts'
import type { KubeObject } from '../core/object.ts'
import { navigate, toCreate, toList, toObject } from '../core/router.ts'
import { nextTheme } from '../core/theme.ts'
import { PAGES } from '../pages/index.ts'
import { Dialog } from './dialog.tsx'
import { Icon, type IconName } from './icons.tsx'

const isOpen = signal(false)
const firstText = signal('')
export const isHelpOpen = signal(false)

export function openPalette(text = ''): void {
  firstText.value = text
  isOpen.value = true
}

export type Action = { readonly title: string; readonly hint?: string; readonly icon: IconName; run(): void }

/** Actions of the page that is shown, such as those of an object. */
export const pageActions = signal<readonly Action[]>([])

export function useActions(actions: readonly Action[], deps: readonly unknown[]): void {
  useEffect(() => {
    pageActions.value = actions
    return () => {
      if (pageActions.value === actions) pageActions.value = []
    }
  }, deps as unknown[])
}

/** How well a text fits: the beginning, the beginning of a word, inside, letters in order; 0 if not at all. */
export function score(text: string, wanted: string): number {
  if (wanted === '') return 1
  const [a, b] = [text.toLowerCase(), wanted.toLowerCase()]
  if (a === b) return 100
  if (a.startsWith(b)) return 80 - Math.min(20, a.length - b.length)
  const at = a.indexOf(b)
  if (at > 0) return /[\s./-]/.test(a[at - 1]!) ? 50 : 35
  let i = 0
  for (const letter of a) if (letter === b[i]) i++
  return i === b.length ? 10 : 0
}

const MAX_SHOWN = 40
/** Objects are searched in kinds that people look for by name. */
const MAX_KINDS_SEARCHED = 8
const MAX_OBJECTS_READ = 500

export function PaletteHost() {
  return isOpen.value ? <Palette /> : isHelpOpen.value ? <Help /> : null
}

function Palette() {
  const [text, setText] = useState(firstText.value)
  const [at, setAt] = useState(0)
  const objects = useObjects(text)
  const list = useRef<HTMLDivElement>(null)
  const close = () => {
    isOpen.value = false
  }
  const [first = '', ...others] = text.trim().split(/\s+/)
  const found = useMemo(() => {
    const wanted = text.trim()
    const kinds = listable.value
    const all: (Action & { points: number })[] = []
    const add = (action: Action, points: number) => points > 0 && all.push({ ...action, points })
    for (const action of pageActions.value) add(action, wanted === '' ? 60 : score(action.title, wanted) + 5)
    for (const { route, title, nav, needs } of PAGES)
      if (nav && !(needs && wanted === ''))
        add({ title, hint: 'page', icon: nav.icon, run: () => void navigate(route) }, score(title, wanted) + (wanted === '' ? 20 : 0))
    if (wanted !== '')
      for (const kind of kinds) {
        const points = Math.max(
          score(kind.plural, first),
          score(kind.kind, first),
          ...kind.shortNames.map(name => (name === first ? 110 : 0)),
        )
        if (others.length === 0) {
          add({ title: kind.kind, hint: qualifiedName(kind), icon: 'layers', run: () => void navigate(toList(kind)) }, points)
          const create = score(`create ${kind.kind}`, wanted)
          if (kind.verbs.includes('create') && create >= 35)
            add(
              {
                title: `Create ${kind.kind}`,
                hint: qualifiedName(kind),
                icon: 'plus',
                run: () => void navigate(toCreate(kind, namespace.value)),
              },
              create,
            )
        }
      }
    for (const name of namespaces.value) {
      const points = wanted === '' ? 0 : score(name, first === 'ns' ? (others[0] ?? '') : wanted)
      add({ title: name, hint: 'use this namespace', icon: 'box', run: () => void (namespace.value = name) }, points - 8)
    }
    if (score('all namespaces', wanted) > 30)
      add({ title: 'All namespaces', hint: 'namespace', icon: 'box', run: () => void (namespace.value = '') }, 40)
    add(
      { title: 'Switch theme', hint: 'action', icon: 'sun', run: nextTheme },
      wanted === '' ? 1 : score('switch theme light dark', wanted),
    )
    add(
      {
        title: 'Show keys',
        hint: '?',
        icon: 'keyboard',
        run: () => {
          isHelpOpen.value = true
        },
      },
      wanted === '' ? 1 : score('show keys help shortcuts', wanted),
    )
    for (const { kind, object } of objects) {
      const { name, namespace: inside } = object.metadata
      add(
        {
          title: name,
          hint: `${kind.kind}${inside ? ` in ${inside}` : ''}`,
          icon: 'box',
          run: () => void navigate(toObject(kind, inside, name)),
        },
        score(name, others.length > 0 ? others.join(' ') : wanted) + 1,
      )
    }
    return all.sort((a, b) => b.points - a.points).slice(0, MAX_SHOWN)
  }, [text, objects, listable.value, pageActions.value])
  const index = Math.min(at, Math.max(0, found.length - 1))
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [index])
  const run = (action: Action | undefined) => {
    if (!action) return
    close()
    action.run()
  }
  return (
    <Dialog title="Search or jump to" className="palette" isBare onClose={close}>
      <div class="palette-input">
        <Icon name="search" />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-label="Search pages, kinds, objects and actions"
          aria-activedescendant={found.length > 0 ? `palette-${index}` : ''}
          placeholder="Jump to a page, kind or object. Try: pods web"
          spellcheck={false}
          autocomplete="off"
          value={text}
          onInput={event => {
            setText(event.currentTarget.value)
            setAt(0)
          }}
          onKeyDown={event => {
            if (event.key === 'ArrowDown') setAt(Math.min(found.length - 1, index + 1))
            else if (event.key === 'ArrowUp') setAt(Math.max(0, index - 1))
            else if (event.key === 'Enter') run(found[index])
            else return
            event.preventDefault()
          }}
        />
        <kbd class="kbd">Esc</kbd>
      </div>
      <div class="palette-list" id="palette-list" role="listbox" tabIndex={-1} aria-label="Results" ref={list}>
        {found.map((action, i) => (
          <div
            key={`${action.title} ${action.hint}`}
            id={`palette-${i}`}
            class="palette-item"
            role="option"
            aria-selected={i === index}
            onMouseMove={() => setAt(i)}
            onClick={() => run(action)}
          >
            <Icon name={action.icon} />
            <span class="cut">{action.title}</span>
            <span class="faint small cut">{action.hint}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="palette-item muted">Nothing fits “{text}”.</p>}
    </Dialog>
  )
}

/** Objects whose name fits: of the kind that is typed first, or of the kinds in common use. */
function useObjects(text: string): readonly { kind: Kind; object: KubeObject }[] {
  const [found, setFound] = useState<readonly { kind: Kind; object: KubeObject }[]>([])
  const cache = useRef(new Map<string, Promise<readonly KubeObject[]>>())
  useEffect(() => {
    const words = text.trim().split(/\s+/)
    if (text.trim().length < 2) {
      setFound([])
      return
    }
    let isCurrent = true
    const timer = setTimeout(async () => {
      const named = listable.value.filter(kind =>
        [kind.plural, kind.kind.toLowerCase(), ...kind.shortNames].includes(words[0]!.toLowerCase()),
      )
      const wanted = named.length > 0 && words.length > 1 ? words.slice(1).join(' ') : text.trim()
      const searched =
        named.length > 0 && words.length > 1
          ? named
          : listable.value.filter(kind => COMMON.includes(kind.plural)).slice(0, MAX_KINDS_SEARCHED)
      const results = await Promise.all(
        searched.map(async kind => {
          const path = `${listPath(kind, namespace.value)}?limit=${MAX_OBJECTS_READ}`
          const read =
            cache.current.get(path) ??
            get<{ items: KubeObject[] }>(path, { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' })
              .then(({ items }) => items)
              .catch(() => [])
          cache.current.set(path, read)
          return (await read).filter(({ metadata }) => score(metadata.name, wanted) > 10).map(object => ({ kind, object }))
        }),
      )
      if (isCurrent) setFound(results.flat())
    }, 120)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [text])
  return found
}
const COMMON = ['pods', 'deployments', 'services', 'statefulsets', 'daemonsets', 'jobs', 'configmaps', 'nodes']

function Help() {
  const groups = new Map<string, (typeof shortcuts.value)[number][]>()
  for (const shortcut of shortcuts.value) {
    const group = shortcut.group ?? 'This page'
    groups.set(group, [...(groups.get(group) ?? []), shortcut])
  }
  return (
    <Dialog
      title="Keys"
      onClose={() => {
        isHelpOpen.value = false
      }}
    >
      <div class="stack">
        {[...groups].map(([group, list]) => (
          <section key={group} class="stack stack-tight">
            <h3>{group}</h3>
            <dl class="keys-list">
              {list.map(({ keys, title }) => (
                <div class="row row-between" key={keys + title}>
                  <dt>{title}</dt>
                  <dd class="row">
                    {keys.split(', ').map(key => (
                      <span class="row" key={key}>
                        {key.split(' ').map(part => (
                          <kbd class="kbd" key={part}>
                            {part}
                          </kbd>
                        ))}
                      </span>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <section class="stack stack-tight">
          <h3>Tables</h3>
          <dl class="keys-list">
            {(
              [
                ['Move', '↑ ↓ j k'],
                ['Open', 'Enter'],
                ['Select', 'Space'],
              ] as const
            ).map(([title, keys]) => (
              <div class="row row-between" key={title}>
                <dt>{title}</dt>
                <dd class="row">
                  {keys.split(' ').map(key => (
                    <kbd class="kbd" key={key}>
                      {key}
                    </kbd>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
        </section>
      </div>
    </Dialog>
  )
}
