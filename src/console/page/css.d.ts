/** A style sheet, which the build puts beside the script. */
declare module '*.css';
