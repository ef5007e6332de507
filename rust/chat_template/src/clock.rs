//! strftime_now: the time that the caller gives, formatted as Python's strftime does in the C locale.

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

#[derive(Clone, Copy)]
pub struct LocalTime {
    year: i32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
}

impl LocalTime {
    /// From "2026-01-02T03:04:05".
    pub fn parse(text: &str) -> Option<LocalTime> {
        let (date, time) = text.split_once('T')?;
        let mut date = date.splitn(3, '-').map(str::parse::<u32>);
        let mut time = time.splitn(3, ':').map(str::parse::<u32>);
        let parsed = LocalTime {
            year: i32::try_from(date.next()?.ok()?).ok()?,
            month: date.next()?.ok()?,
            day: date.next()?.ok()?,
            hour: time.next()?.ok()?,
            minute: time.next()?.ok()?,
            second: time.next()?.ok()?,
        };
        let valid = (1..=9999).contains(&parsed.year)
            && (1..=12).contains(&parsed.month)
            && (1..=days_in_month(parsed.year, parsed.month)).contains(&parsed.day)
            && parsed.hour < 24
            && parsed.minute < 60
            && parsed.second < 61;
        valid.then_some(parsed)
    }

    fn day_of_year(&self) -> u32 {
        (1..self.month).map(|month| days_in_month(self.year, month)).sum::<u32>() + self.day
    }

    /// 0 is Sunday. 1 January of year 1 was a Monday.
    fn weekday(&self) -> u32 {
        let years = self.year as u32 - 1;
        (years * 365 + years / 4 - years / 100 + years / 400 + self.day_of_year()) % 7
    }

    fn hour12(&self) -> u32 {
        (self.hour + 11) % 12 + 1
    }

    pub fn format(&self, format: &str) -> String {
        let mut out = String::new();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            match chars.next() {
                Some('-') => match chars.next() {
                    Some(letter) => out.push_str(&without_padding(&self.field(letter))),
                    None => out.push_str("%-"),
                },
                Some(letter) => out.push_str(&self.field(letter)),
                None => out.push('%'),
            }
        }
        out
    }

    fn field(&self, letter: char) -> String {
        let day = self.weekday();
        let day_name = DAYS[day as usize % 7];
        let month_name = MONTHS[(self.month as usize - 1) % 12];
        match letter {
            'Y' => self.year.to_string(),
            'C' => format!("{:02}", self.year / 100),
            'y' => format!("{:02}", self.year % 100),
            'm' => format!("{:02}", self.month),
            'd' => format!("{:02}", self.day),
            'e' => format!("{:2}", self.day),
            'H' => format!("{:02}", self.hour),
            'I' => format!("{:02}", self.hour12()),
            'M' => format!("{:02}", self.minute),
            'S' => format!("{:02}", self.second),
            'f' => "000000".into(),
            'p' => if self.hour < 12 { "AM" } else { "PM" }.into(),
            'j' => format!("{:03}", self.day_of_year()),
            'A' => day_name.into(),
            'a' => day_name[..3].into(),
            'B' => month_name.into(),
            'b' | 'h' => month_name[..3].into(),
            'w' => day.to_string(),
            'u' => ((day + 6) % 7 + 1).to_string(),
            'U' => format!("{:02}", (self.day_of_year() + 6 - day) / 7),
            'W' => format!("{:02}", (self.day_of_year() + 6 - (day + 6) % 7) / 7),
            'F' => self.format("%Y-%m-%d"),
            'D' | 'x' => self.format("%m/%d/%y"),
            'T' | 'X' => self.format("%H:%M:%S"),
            'R' => self.format("%H:%M"),
            'r' => self.format("%I:%M:%S %p"),
            'c' => self.format("%a %b %e %H:%M:%S %Y"),
            'n' => "\n".into(),
            't' => "\t".into(),
            '%' => "%".into(),
            // The time has no zone.
            'z' | 'Z' => String::new(),
            other => format!("%{other}"),
        }
    }
}

fn without_padding(field: &str) -> String {
    match field.trim_start_matches(['0', ' ']) {
        "" => "0".into(),
        rest => rest.into(),
    }
}

fn days_in_month(year: i32, month: u32) -> u32 {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
