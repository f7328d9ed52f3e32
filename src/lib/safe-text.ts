/** Short texts for names: no vowels, and no digits that look like letters, so that no words come out by chance. */
import { randomInt } from 'node:crypto'

const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789'

/** The same text for the same input. */
export const safeText = (text: string): string => Array.from(text, (_, i) => ALPHABET[text.charCodeAt(i) % ALPHABET.length]).join('')

/** What is added to `generateName`. */
export const randomSuffix = (): string => Array.from({ length: 5 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
