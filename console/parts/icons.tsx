/** Icons as small inline SVG: 16 by 16, drawn with the colour of the text. */

const PATHS = {
  anchor: 'M8 4.5v9m0-9a1.75 1.75 0 1 0 0-3.5 1.75 1.75 0 0 0 0 3.5ZM2.5 9c.3 2.8 2.6 4.5 5.5 4.5s5.2-1.7 5.5-4.5M5.5 7h5',
  gauge: 'M2.2 12a6.5 6.5 0 1 1 11.6 0M8 9l2.8-3.4M8 10.2a1.2 1.2 0 1 0 0-2.4 1.2 1.2 0 0 0 0 2.4Z',
  server: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01',
  graph:
    'M4 5.5a1.75 1.75 0 1 0 0-3.5 1.75 1.75 0 0 0 0 3.5ZM12 9.75a1.75 1.75 0 1 0 0-3.5 1.75 1.75 0 0 0 0 3.5ZM4 14a1.75 1.75 0 1 0 0-3.5A1.75 1.75 0 0 0 4 14ZM4 5.5v5M5.6 4.6l4.8 2.6M5.5 11.3l4.8-2.5',
  flask: 'M6 1.5v4.2L2.6 12a1.7 1.7 0 0 0 1.5 2.5h7.8a1.7 1.7 0 0 0 1.5-2.5L10 5.7V1.5M5 1.5h6M4.3 9.5h7.4',
  network: 'M2 4h12M2 8h8M2 12h5M12 10.5l2 2-2 2',
  key: 'M10 9.5a3.75 3.75 0 1 0-3.6-2.7L2 11.2V14h2.8v-1.6h1.6v-1.6H8l.8-.9c.4.1.8.1 1.2.1ZM11 5h.01',
  bolt: 'M8.8 1.5 3.5 9H8l-.8 5.5L12.5 7H8z',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM14 14l-3.5-3.5',
  chevron: 'm6 3.5 4.5 4.5L6 12.5',
  down: 'M3.5 6 8 10.5 12.5 6',
  up: 'M3.5 10 8 5.5l4.5 4.5',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  moon: 'M13.8 9.6A6 6 0 1 1 6.4 2.2a4.7 4.7 0 0 0 7.4 7.4Z',
  user: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 14c.5-2.6 2.7-4 5.5-4s5 1.4 5.5 4',
  menu: 'M2 4h12M2 8h12M2 12h12',
  close: 'm3.5 3.5 9 9M12.5 3.5l-9 9',
  check: 'm3 8.5 3.2 3.2L13 4.8',
  alert: 'M8 5.5v3.2M8 11h.01M7 2.4 1.6 11.8a1.2 1.2 0 0 0 1 1.7h10.8a1.2 1.2 0 0 0 1-1.7L9 2.4a1.2 1.2 0 0 0-2 0Z',
  info: 'M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4ZM8 7.3v3.4M8 5.2h.01',
  plus: 'M8 3v10M3 8h10',
  trash: 'M2.5 4h11M6 4V2.5h4V4M4 4l.6 9.5h6.8L12 4M6.7 7v4M9.3 7v4',
  columns: 'M2.5 2.5h11v11h-11zM6.2 2.5v11M9.9 2.5v11',
  history: 'M2.3 6.2A6 6 0 1 1 2 8.6M2 3v3.4h3.4M8 4.8V8l2.3 1.6',
  edit: 'M9.8 3.4 12.6 6.2M2.5 13.5l.7-3.2L11 2.5l2.5 2.5-7.8 7.8z',
  scale: 'M2.5 9.5v4h4M13.5 6.5v-4h-4M2.8 13.2 6.6 9.4M13.2 2.8 9.4 6.6',
  refresh: 'M13.5 3v3.5H10M2.5 13V9.5H6M13 6.2A5.3 5.3 0 0 0 3.5 5M3 9.8A5.3 5.3 0 0 0 12.5 11',
  undo: 'M5.5 3 2.5 6l3 3M2.5 6h7a4 4 0 0 1 0 8H6',
  pause: 'M5 3v10M11 3v10',
  play: 'M4.5 2.8v10.4L13 8z',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  lock: 'M3.5 7h9v7h-9zM5.5 7V4.8a2.5 2.5 0 0 1 5 0V7',
  ghost: 'M3 14V7a5 5 0 0 1 10 0v7l-1.7-1.3L9.7 14 8 12.7 6.3 14l-1.6-1.3zM6 7h.01M10 7h.01',
  box: 'M8 1.8 13.8 5v6L8 14.2 2.2 11V5zM2.2 5 8 8.2 13.8 5M8 8.2v6',
  layers: 'M8 2 1.8 5.3 8 8.6l6.2-3.3zM2.2 8.2 8 11.3l5.8-3.1M2.2 11 8 14.1l5.8-3.1',
  file: 'M3.5 1.8h6l3 3v9.4h-9zM9.3 1.8V5h3.2M5.8 8h4.4M5.8 10.8h4.4',
  globe:
    'M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4ZM1.8 8h12.4M8 1.8c2 2 2.6 4 2.6 6.2S10 12.2 8 14.2C6 12.2 5.4 10.2 5.4 8S6 3.8 8 1.8Z',
  disk: 'M2 4.2C2 3 4.7 2 8 2s6 1 6 2.2v7.6C14 13 11.3 14 8 14s-6-1-6-2.2zM2 4.2c0 1.2 2.7 2.2 6 2.2s6-1 6-2.2M2 8c0 1.2 2.7 2.2 6 2.2S14 9.2 14 8',
  puzzle: 'M6.2 3.2a1.8 1.8 0 0 1 3.6 0h3.4v3.6a1.8 1.8 0 0 0 0 3.6v3.4H2.8V3.2z',
  shield: 'M8 1.6 13.4 4v4c0 3.2-2.3 5.4-5.4 6.4C4.9 13.4 2.6 11.2 2.6 8V4z',
  terminal: 'M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10h3',
  filter: 'M2 3.5h12M4.5 8h7M7 12.5h2',
  dots: 'M3 8h.01M8 8h.01M13 8h.01',
  out: 'M6 14H2.5V2H6M10.5 11.2 13.7 8l-3.2-3.2M13.5 8H6',
  link: 'M6.5 9.5a3 3 0 0 0 4.2 0l2.4-2.4a3 3 0 0 0-4.2-4.2L8 3.8M9.5 6.5a3 3 0 0 0-4.2 0L2.9 8.9a3 3 0 0 0 4.2 4.2l.9-.9',
  keyboard: 'M1.5 4h13v8h-13zM4 6.5h.01M6.7 6.5h.01M9.3 6.5h.01M12 6.5h.01M5 9.5h6',
  clock: 'M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4ZM8 4.5V8l2.5 1.5',
  chip: 'M4 4h8v8H4zM6.5 1.5V4M9.5 1.5V4M6.5 12v2.5M9.5 12v2.5M1.5 6.5H4M1.5 9.5H4M12 6.5h2.5M12 9.5h2.5',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, size = 16, title }: { name: IconName; size?: number; title?: string }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width={name === 'dots' ? 2.4 : 1.35}
      stroke-linecap="round"
      stroke-linejoin="round"
      {...(title ? { role: 'img', 'aria-label': title } : { 'aria-hidden': 'true' as const })}
    >
      <path d={PATHS[name]} />
    </svg>
  )
}

export function Logo() {
  return (
    <svg width="22" height="22" viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6.5" fill="currentColor" />
      <path d="M4.6 13.6h14.8l-2.9 4.9H7.5z" fill="#fff" />
      <path d="M11.1 4.6h1.9v7.6h-1.9z" fill="#fff" />
      <path d="M14.2 6.2 18 11.6h-3.8z" fill="#fff" opacity=".72" />
    </svg>
  )
}
