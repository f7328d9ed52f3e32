/** The way to the present page, and the title of the document. */
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { href } from '../core/router.ts'
import { Icon } from './icons.tsx'

export type Crumb = { readonly text: string; readonly to?: string }

const crumbs = signal<readonly Crumb[]>([])

/** Sets the crumbs while a page is shown. */
export function useCrumbs(list: readonly Crumb[]): void {
  const key = JSON.stringify(list)
  useEffect(() => {
    crumbs.value = list
    document.title = `${list
      .map(({ text }) => text)
      .reverse()
      .join(' · ')} · Keelson`
  }, [key])
}

export function Crumbs() {
  return (
    <nav class="grow" aria-label="Breadcrumb">
      <ol class="crumbs">
        {crumbs.value.map(({ text, to }, i) => (
          <li key={`${i}${text}`} class={i < crumbs.value.length - 1 && i > 0 ? 'hide-small' : ''}>
            {to ? <a href={href(to)}>{text}</a> : <span aria-current="page">{text}</span>}
            {i < crumbs.value.length - 1 && <Icon name="chevron" size={12} />}
          </li>
        ))}
      </ol>
    </nav>
  )
}
