/* sheet.h: the style sheet that stands in the HTML page. */
#ifndef INSPECT_SHEET_H
#define INSPECT_SHEET_H

extern const char inspect_sheet[];

#endif
