/** The entry of the console: the session, the frame, and the page of the address. */
import { effect, signal } from '@preact/signals'
import { type ComponentType, render } from 'preact'
import { useEffect, useErrorBoundary, useState } from 'preact/hooks'
import { forgetAccess } from './core/access.ts'
import { isSignedOut, messageOf } from './core/api.ts'
import { discover, discoveryError, kinds } from './core/discovery.ts'
import { startKeys, useShortcuts } from './core/keys.ts'
import { loadNamespaces } from './core/namespace.ts'
import { navigate, path, startRouter } from './core/router.ts'
import { resume, returnByCertificate, session } from './core/session.ts'
import { startTheme } from './core/theme.ts'
import { PAGES, type PageProps, pageOf } from './pages/index.ts'
import { Empty, Problem, Spinner } from './parts/basics.tsx'
import { useCrumbs } from './parts/crumbs.tsx'
import { ConfirmHost } from './parts/dialog.tsx'
import { Frame } from './parts/frame.tsx'
import { Login } from './parts/login.tsx'
import { isHelpOpen, openPalette, PaletteHost } from './parts/palette.tsx'
import { Toasts } from './parts/toasts.tsx'
import './style.css'

const loginProblem = signal('')

function App() {
  if (session.value === undefined) return <main class="login" aria-busy="true" />
  if (session.value === null) return <Login problem={loginProblem.value} />
  return (
    <>
      <div class={isSignedOut.value ? 'put-aside' : 'in-front'}>
        <Console key={session.value.user} />
      </div>
      {isSignedOut.value && <Login problem="The session has ended, perhaps with the server. Log in again: this page goes on as it is." />}
    </>
  )
}

effect(() => {
  if (isSignedOut.value) void returnByCertificate()
})

const REREAD_DISCOVERY_MS = 30_000

function Console() {
  useEffect(() => {
    forgetAccess()
    void discover().catch(() => {})
    void loadNamespaces()
    // New definitions and namespaces show by themselves.
    const timer = setInterval(() => {
      if (document.hidden) return
      void discover().catch(() => {})
      void loadNamespaces()
    }, REREAD_DISCOVERY_MS)
    return () => clearInterval(timer)
  }, [])
  useShortcuts([
    { keys: '/, Ctrl-K', title: 'Search or jump to', group: 'Everywhere', run: () => openPalette() },
    {
      keys: '?',
      title: 'Show keys',
      group: 'Everywhere',
      run: () => {
        isHelpOpen.value = true
      },
    },
    ...PAGES.flatMap(({ nav, title, route }) =>
      nav ? [{ keys: `g ${nav.key}`, title, group: 'Go to', run: () => void navigate(route) }] : [],
    ),
  ])
  return (
    <>
      <Frame>
        <Content />
      </Frame>
      <PaletteHost />
      <ConfirmHost />
      <Toasts />
    </>
  )
}

function Content() {
  const found = pageOf(path.value)
  if (discoveryError.value && kinds.value === undefined)
    return <Problem error={discoveryError.value} subject="The console" onRetry={() => void discover().catch(() => {})} />
  if (!found) return <Unknown />
  if (kinds.value === undefined)
    return (
      <div class="page">
        <Spinner />
      </div>
    )
  return <Loaded key={found.page.route} load={found.page.load} params={found.params} />
}

function Unknown() {
  useCrumbs([{ text: 'Unknown page' }])
  return (
    <Empty icon="ghost" title="There is no such page" level={1}>
      <p>{path.value}</p>
    </Empty>
  )
}

const loaded = new Map<() => Promise<unknown>, ComponentType<PageProps>>()

/** A page whose chunk comes when it is needed. */
function Loaded({ load, params }: { load: () => Promise<{ default: ComponentType<PageProps> }>; params: PageProps['params'] }) {
  const [, setTurn] = useState(0)
  const [failure, setFailure] = useState<unknown>(undefined)
  const [broken, reset] = useErrorBoundary(error => console.error(error))
  const Page = loaded.get(load)
  useEffect(() => {
    if (loaded.has(load)) return
    load().then(({ default: page }) => {
      loaded.set(load, page)
      setTurn(turn => turn + 1)
    }, setFailure)
  }, [load])
  if (failure) return <Problem error={failure} subject="This page" onRetry={() => location.reload()} />
  if (broken) return <Problem error={broken} subject="This page" onRetry={reset} />
  if (!Page)
    return (
      <div class="page">
        <Spinner />
      </div>
    )
  return <Page key={JSON.stringify(params)} params={params} />
}

startTheme()
startRouter()
startKeys()
resume().catch(error => {
  loginProblem.value = messageOf(error)
})
render(<App />, document.getElementById('app')!)
