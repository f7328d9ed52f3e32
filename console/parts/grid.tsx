/**
 * A table that shows only the rows in view: 50,000 rows scroll as smoothly as fifty. One element takes the focus; arrow keys move the
 * active row, Enter opens it, Space selects it.
 */
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Icon } from './icons.tsx'

export type GridColumn<T> = {
  readonly id: string
  readonly title: string
  readonly description?: string | undefined
  /** A CSS width; flexible by default. */
  readonly width?: string
  readonly isName?: boolean
  cell(row: T): ComponentChildren
}

export type Sort = { readonly id: string; readonly isDescending: boolean }

type GridProps<T> = {
  readonly label: string
  readonly rows: readonly T[]
  readonly columns: readonly GridColumn<T>[]
  keyOf(row: T): string
  readonly sort?: Sort | undefined
  onSort?(id: string): void
  onOpen?(row: T): void
  /** One click opens a row, where nothing is left by it. */
  readonly opensAtOnce?: boolean
  /** Keys of selected rows; without it rows cannot be selected. */
  readonly selected?: ReadonlySet<string>
  onSelect?(keys: ReadonlySet<string>): void
  isFaded?(row: T): boolean
  readonly empty?: ComponentChildren
}

const ROW_PX = 34
const AROUND = 12

export function Grid<T>(props: GridProps<T>) {
  const { label, rows, columns, keyOf, onOpen, selected, onSelect, empty } = props
  const box = useRef<HTMLDivElement>(null)
  const view = useView(box)
  const [activeKey, setActiveKey] = useState<string | undefined>(undefined)
  // The active row is found by its key, since rows move.
  const active = useMemo(() => (activeKey === undefined ? -1 : rows.findIndex(row => keyOf(row) === activeKey)), [rows, activeKey])
  const first = Math.max(0, Math.floor(view.top / ROW_PX) - AROUND)
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW_PX) + AROUND)
  const toggle = useToggle(props)
  const template = [...(toggle ? ['2.25rem'] : []), ...columns.map(({ width }) => width ?? 'minmax(6rem, 1fr)')].join(' ')

  const moveTo = (index: number) => {
    const at = Math.max(0, Math.min(rows.length - 1, index))
    const row = rows[at]
    if (!row) return
    setActiveKey(keyOf(row))
    bringIntoView(box.current!, at)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== box.current || event.ctrlKey || event.metaKey || event.altKey) return
    const next = nextActive(event.key, { active, rows: rows.length, page: Math.max(1, Math.floor(view.height / ROW_PX) - 2) })
    if (next !== undefined) moveTo(next)
    else if (event.key === 'Enter' && rows[active] && onOpen) onOpen(rows[active]!)
    else if ((event.key === ' ' || event.key === 'x') && active >= 0) toggle?.(active, event.shiftKey)
    else if (event.key === 'Escape' && selected?.size && onSelect) onSelect(new Set())
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  useEffect(() => {
    // A page that opens with a table can be used at once from the keyboard.
    if (document.activeElement === document.body || document.activeElement?.id === 'content') box.current?.focus({ preventScroll: true })
  }, [])

  const shown = rows.slice(first, last)
  return (
    <div class="grid-wrap">
      <div
        ref={box}
        class="grid"
        role="grid"
        tabIndex={0}
        aria-label={label}
        aria-rowcount={rows.length + 1}
        aria-colcount={columns.length}
        aria-multiselectable={toggle !== undefined}
        {...(active >= first && active < last ? { 'aria-activedescendant': `row-${active}` } : {})}
        onKeyDown={onKeyDown}
      >
        <div class="grid-inner">
          <Head {...props} template={template} />
          <div class="grid-body" role="rowgroup" style={{ height: `${rows.length * ROW_PX}px` }}>
            {shown.map((row, i) => (
              <GridRow
                {...props}
                key={keyOf(row)}
                row={row}
                at={first + i}
                isActive={first + i === active}
                template={template}
                toggle={toggle}
                onActive={setActiveKey}
              />
            ))}
          </div>
        </div>
      </div>
      {rows.length === 0 && <div class="grid-empty">{empty}</div>}
    </div>
  )
}

/** The part of the table that is in view, in pixels. */
function useView(box: RefObject<HTMLDivElement | null>): { readonly top: number; readonly height: number } {
  const [view, setView] = useState({ top: 0, height: 600 })
  useLayoutEffect(() => {
    const element = box.current!
    let frame = 0
    const read = () => {
      frame = 0
      const { scrollTop: top, clientHeight: height } = element
      setView(was => (was.top === top && was.height === height ? was : { top, height }))
    }
    const onScroll = () => {
      if (frame === 0) frame = requestAnimationFrame(read)
    }
    element.addEventListener('scroll', onScroll, { passive: true })
    const observer = new ResizeObserver(read)
    observer.observe(element)
    read()
    return () => {
      element.removeEventListener('scroll', onScroll)
      observer.disconnect()
      cancelAnimationFrame(frame)
    }
  }, [])
  return view
}

function bringIntoView(element: HTMLElement, at: number): void {
  const [top, bottom] = [at * ROW_PX, (at + 2) * ROW_PX]
  if (top < element.scrollTop) element.scrollTop = top
  else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight
}

/** The row that a key leads to; undefined for other keys. */
function nextActive(key: string, { active, rows, page }: { active: number; rows: number; page: number }): number | undefined {
  switch (key) {
    case 'ArrowDown':
    case 'j':
      return active + 1
    case 'ArrowUp':
    case 'k':
      return Math.max(0, active - 1)
    case 'PageDown':
      return active + page
    case 'PageUp':
      return active - page
    case 'Home':
      return 0
    case 'End':
      return rows - 1
    default:
      return undefined
  }
}

/** Selects a row or takes it out, or selects all rows since the last one. */
type Toggle = (index: number, isRange: boolean) => void

/** Undefined where rows cannot be selected. */
function useToggle<T>({ rows, keyOf, selected, onSelect }: GridProps<T>): Toggle | undefined {
  const anchor = useRef<number>(0)
  if (selected === undefined || onSelect === undefined) return undefined
  return (index, isRange) => {
    const next = new Set(selected)
    const row = rows[index]
    if (!row) return
    if (isRange) {
      const [from, to] = anchor.current < index ? [anchor.current, index] : [index, anchor.current]
      for (let i = from; i <= to; i++) if (rows[i]) next.add(keyOf(rows[i]!))
    } else if (!next.delete(keyOf(row))) next.add(keyOf(row))
    anchor.current = index
    onSelect(next)
  }
}

type RowProps<T> = Pick<GridProps<T>, 'columns' | 'keyOf' | 'onOpen' | 'opensAtOnce' | 'selected' | 'isFaded'> & {
  readonly row: T
  readonly at: number
  readonly isActive: boolean
  readonly template: string
  readonly toggle: Toggle | undefined
  onActive(key: string): void
}

function GridRow<T>({ row, at, isActive, template, toggle, onActive, ...props }: RowProps<T>) {
  const { columns, keyOf, onOpen, opensAtOnce, selected, isFaded } = props
  const key = keyOf(row)
  const isSelected = selected?.has(key) ?? false
  return (
    <div
      id={`row-${at}`}
      class={opensAtOnce ? 'grid-row grid-row-opens' : 'grid-row'}
      role="row"
      aria-rowindex={at + 2}
      {...(toggle ? { 'aria-selected': isSelected } : {})}
      data-active={isActive}
      data-gone={isFaded?.(row) ?? false}
      style={{ transform: `translateY(${at * ROW_PX}px)`, gridTemplateColumns: template }}
      onClick={event => {
        if ((event.target as Element).closest('a, button, input')) return
        onActive(key)
        if (event.shiftKey || event.ctrlKey || event.metaKey) toggle?.(at, event.shiftKey)
        else if (opensAtOnce) onOpen?.(row)
      }}
      onDblClick={() => onOpen?.(row)}
    >
      {toggle && (
        <div class="grid-cell" role="gridcell">
          <input type="checkbox" tabIndex={-1} checked={isSelected} aria-label="Select row" onClick={event => toggle(at, event.shiftKey)} />
        </div>
      )}
      {columns.map(column => (
        <div key={column.id} class={`grid-cell ${column.isName ? 'grid-name grid-pin' : ''}`} role="gridcell">
          {column.cell(row)}
        </div>
      ))}
    </div>
  )
}

function Head<T>({ rows, columns, keyOf, sort, onSort, selected, onSelect, template }: GridProps<T> & { readonly template: string }) {
  const isAll = rows.length > 0 && selected !== undefined && selected.size >= rows.length
  return (
    <div class="grid-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
      {selected && onSelect && (
        <div class="grid-cell" role="columnheader">
          <label class="grid-sort">
            <input
              type="checkbox"
              aria-label="Select all"
              checked={isAll}
              onClick={() => onSelect(isAll ? new Set() : new Set(rows.map(keyOf)))}
            />
          </label>
        </div>
      )}
      {columns.map(({ id, title, description, isName }) => {
        const isSorted = sort?.id === id
        return (
          <div
            key={id}
            class={`grid-cell ${isName ? 'grid-pin' : ''}`}
            role="columnheader"
            aria-sort={isSorted ? (sort.isDescending ? 'descending' : 'ascending') : 'none'}
          >
            {onSort ? (
              <button type="button" class="grid-sort" onClick={() => onSort(id)} {...(description ? { title: description } : {})}>
                {title}
                {isSorted && <Icon name={sort.isDescending ? 'down' : 'up'} size={12} />}
              </button>
            ) : (
              <span class="grid-title">{title}</span>
            )}
          </div>
        )
      })}
    </div>
  )
}
